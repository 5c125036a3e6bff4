package main

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	scaleclient "k8s.io/client-go/scale"
)

const namespace = "default"

var podLabels = map[string]string{"app": "target"}

// world stands for the API server: one scale, one autoscaler, no events.
type world struct {
	current, status int32
	written         *int32
	updated         *autoscalingv2.HorizontalPodAutoscaler
}

// A scale is read as the observation tells it and may be written once per sync.

func (w *world) Scales(string) scaleclient.ScaleInterface { return scales{world: w} }

type scales struct {
	scaleclient.ScaleInterface
	world *world
}

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "target", Namespace: namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: s.world.current},
		Status: autoscalingv1.ScaleStatus{
			Replicas: s.world.status, Selector: labels.SelectorFromSet(podLabels).String(),
		},
	}, nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, scale *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	replicas := scale.Spec.Replicas
	s.world.written = &replicas
	return scale, nil
}

// The status of the autoscaler is kept for the next sync.

func (w *world) HorizontalPodAutoscalers(string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return autoscalers{world: w}
}

type autoscalers struct {
	autoscalingclient.HorizontalPodAutoscalerInterface
	world *world
}

func (a autoscalers) UpdateStatus(_ context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	a.world.updated = hpa.DeepCopy()
	return hpa, nil
}

// Events are accepted and forgotten.

func (w *world) Events(string) v1core.EventInterface { return events{} }

type events struct{ v1core.EventInterface }

func (events) CreateWithEventNamespaceWithContext(_ context.Context, event *v1.Event) (*v1.Event, error) {
	return event, nil
}

func (events) UpdateWithEventNamespaceWithContext(_ context.Context, event *v1.Event) (*v1.Event, error) {
	return event, nil
}

func (events) PatchWithEventNamespaceWithContext(_ context.Context, event *v1.Event, _ []byte) (*v1.Event, error) {
	return event, nil
}

func (events) CreateWithEventNamespace(event *v1.Event) (*v1.Event, error) { return event, nil }

func (events) UpdateWithEventNamespace(event *v1.Event) (*v1.Event, error) { return event, nil }

func (events) PatchWithEventNamespace(event *v1.Event, _ []byte) (*v1.Event, error) {
	return event, nil
}

// Every kind can be scaled.

type mapper struct{ apimeta.RESTMapper }

func (mapper) RESTMappings(kind schema.GroupKind, _ ...string) ([]*apimeta.RESTMapping, error) {
	return []*apimeta.RESTMapping{{
		Resource: schema.GroupVersionResource{Group: kind.Group, Resource: "targets"},
	}}, nil
}
