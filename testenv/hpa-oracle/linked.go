package main

import (
	"context"
	_ "unsafe" // for go:linkname

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
)

// One sync of the controller. It is not exported, and Run would choose the moments by itself.
//
//go:linkname reconcileAutoscaler k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).reconcileAutoscaler
func reconcileAutoscaler(
	controller *podautoscaler.HorizontalController,
	ctx context.Context,
	hpa *autoscalingv2.HorizontalPodAutoscaler,
	key string,
) error

// Makes the autoscaler known, as its informer's event does.
//
//go:linkname enqueueHPA k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).enqueueHPA
func enqueueHPA(controller *podautoscaler.HorizontalController, hpa interface{})
