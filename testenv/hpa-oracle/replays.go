package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-logr/logr/funcr"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	autoscalingapiv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
)

// The stock flags of kube-controller-manager.
const (
	syncPeriod        = 15 * time.Second
	downStabilisation = 5 * time.Minute
	tolerance         = 0.1
	cpuInitialisation = 5 * time.Minute
	readinessDelay    = 30 * time.Second
)

// Sync is what the controller made of one observation.
type Sync struct {
	Time Seconds `json:"t"`
	// Proposed is what the metrics alone say; null if they were not asked or gave no answer.
	Proposed *int32 `json:"proposed"`
	// Desired is what the target has after the sync.
	Desired int32 `json:"desired"`
	// StatusDesired is the autoscaler's status.desiredReplicas.
	StatusDesired int32 `json:"statusDesired"`
	// Conditions are the autoscaler's conditions by type: status, reason, message.
	Conditions map[string][3]string `json:"conditions"`
	// RescaleReason is what the controller logs with a rescale.
	RescaleReason string `json:"rescaleReason,omitempty"`
	// Error is what the sync returned.
	Error string `json:"error,omitempty"`
}

func decode(raw json.RawMessage) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := json.Unmarshal(raw, hpa); err != nil {
		return nil, err
	}
	// Written and read once more, quantities have the canonical form an API server hands out.
	canonical, err := json.Marshal(hpa)
	if err != nil {
		return nil, err
	}
	hpa = &autoscalingv2.HorizontalPodAutoscaler{}
	if err := json.Unmarshal(canonical, hpa); err != nil {
		return nil, err
	}
	autoscalingapiv2.SetDefaults_HorizontalPodAutoscaler(hpa)
	hpa.Name, hpa.Namespace = "target", namespace
	return hpa, nil
}

// replay lets the controller see one observation after another.
func replay(ctx context.Context, c Case) ([]Sync, error) {
	hpa, err := decode(c.HPA)
	if err != nil {
		return nil, fmt.Errorf("hpa: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said := map[string]string{}
	ctx = klog.NewContext(ctx, funcr.NewJSON(func(line string) { remember(said, line) }, funcr.Options{Verbosity: 4}))

	here := &world{}
	read := &seen{start: time.Now()}
	factory := informers.NewSharedInformerFactory(nil, 0)
	pods := factory.Core().V1().Pods()
	controller := podautoscaler.NewHorizontalController(
		ctx, here, here, here, mapper{}, read, factory.Autoscaling().V2().HorizontalPodAutoscalers(), pods,
		syncPeriod, downStabilisation, tolerance, cpuInitialisation, readinessDelay,
	)
	enqueueHPA(controller, hpa)
	// Run ends at once when its context has, and shuts the controller's queue down; goroutines that
	// look at it now and then need a moment (of virtual time) to notice.
	defer func() { cancel(); controller.Run(ctx, 1); time.Sleep(time.Minute) }()

	var syncs []Sync
	for _, observation := range c.Observations {
		time.Sleep(time.Until(read.start.Add(observation.Time.duration())))
		built, err := observation.pods(read.start)
		if err != nil {
			return syncs, err
		}
		if err := pods.Informer().GetStore().Replace(anything(built), ""); err != nil {
			return syncs, err
		}
		read.now = observation
		here.current, here.status = observation.CurrentReplicas, observation.statusReplicas()
		here.written, here.updated = nil, hpa
		clear(said)
		failure := reconcileAutoscaler(controller, ctx, hpa, namespace+"/target")
		hpa = here.updated
		syncs = append(syncs, report(observation, here, said, failure))
	}
	return syncs, nil
}

func anything(pods []*v1.Pod) []interface{} {
	found := make([]interface{}, len(pods))
	for i, pod := range pods {
		found[i] = pod
	}
	return found
}

// remember keeps what the controller logs about its decision.
func remember(said map[string]string, line string) {
	var entry struct {
		Message string      `json:"msg"`
		Desired json.Number `json:"desiredReplicas"`
		Reason  string      `json:"reason"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil {
		return
	}
	switch entry.Message {
	case "Proposing desired replicas", "Proposing desired replicas from zero":
		said["proposed"] = entry.Desired.String()
	case "Successfully rescaled":
		said["reason"] = entry.Reason
	}
}

func report(observation Observation, here *world, said map[string]string, failure error) Sync {
	status := here.updated.Status
	sync := Sync{
		Time: observation.Time, Desired: observation.CurrentReplicas, StatusDesired: status.DesiredReplicas,
		Conditions: map[string][3]string{}, RescaleReason: said["reason"],
	}
	if here.written != nil {
		sync.Desired = *here.written
	}
	if text, ok := said["proposed"]; ok {
		var proposed int32
		if _, err := fmt.Sscan(text, &proposed); err == nil {
			sync.Proposed = &proposed
		}
	}
	for _, condition := range status.Conditions {
		sync.Conditions[string(condition.Type)] = [3]string{string(condition.Status), condition.Reason, condition.Message}
	}
	if failure != nil {
		sync.Error = failure.Error()
	}
	return sync
}
