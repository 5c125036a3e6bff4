package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seconds is a moment on the clock of a case.
type Seconds float64

func (s Seconds) duration() time.Duration {
	return time.Duration(math.Round(float64(s) * 1e9))
}

// Observation is what one sync sees: a line of OBSERVATIONS.jsonl.
type Observation struct {
	Time            Seconds                    `json:"t"`
	CurrentReplicas int32                      `json:"currentReplicas"`
	StatusReplicas  *int32                     `json:"statusReplicas"`
	Metrics         map[string]json.RawMessage `json:"metrics"`
	Pods            map[string]PodFacts        `json:"pods"`
}

// PodFacts is what is known of a pod; the zero value is a pod that has been ready for long.
type PodFacts struct {
	Ready      json.RawMessage                         `json:"ready"` // true, false, null: no condition
	Phase      string                                  `json:"phase"`
	Started    json.RawMessage                         `json:"started"` // seconds, null: no start time
	ReadySince *Seconds                                `json:"readySince"`
	Deleted    bool                                    `json:"deleted"`
	Sampled    *Seconds                                `json:"sampled"`
	Window     *Seconds                                `json:"window"`
	Requests   map[string]resource.Quantity            `json:"requests"`
	Containers map[string]map[string]resource.Quantity `json:"containers"`
	PodLevel   map[string]resource.Quantity            `json:"podRequests"`
}

// longAgo is the start of a pod of which none is told: a day before the clock begins.
const longAgo = Seconds(-86400)

// defaultWindow is what the controller takes where a metric tells no window.
const defaultWindow = Seconds(60)

func (o Observation) statusReplicas() int32 {
	if o.StatusReplicas == nil {
		return o.CurrentReplicas
	}
	return *o.StatusReplicas
}

// samples decodes a per-pod metric; ok is false for single values and failed reads.
func samples(raw json.RawMessage) (found map[string]*resource.Quantity, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	return found, json.Unmarshal(raw, &found) == nil
}

// podNames lists the pods of a sync: those told of and those with a sample or the lack of one;
// if there are none, as many as the scale has.
func (o Observation) podNames() []string {
	seen := map[string]bool{}
	for name := range o.Pods {
		seen[name] = true
	}
	told := o.Pods != nil
	for _, raw := range o.Metrics {
		if found, ok := samples(raw); ok {
			told = told || len(found) > 0
			for name := range found {
				seen[name] = true
			}
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	for i := int32(0); !told && i < o.statusReplicas(); i++ {
		names = append(names, fmt.Sprintf("pod-%d", i))
	}
	return names
}

// pods builds the pods of a sync.
func (o Observation) pods(start time.Time) ([]*v1.Pod, error) {
	var built []*v1.Pod
	for _, name := range o.podNames() {
		pod, err := o.Pods[name].pod(name, start)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", name, err)
		}
		built = append(built, pod)
	}
	return built, nil
}

func (f PodFacts) pod(name string, start time.Time) (*v1.Pod, error) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: podLabels},
		Status:     v1.PodStatus{Phase: v1.PodRunning},
	}
	if f.Phase != "" {
		pod.Status.Phase = v1.PodPhase(f.Phase)
	}
	if f.Deleted {
		pod.DeletionTimestamp = &metav1.Time{Time: start}
	}
	started := longAgo
	if string(f.Started) != "null" {
		if f.Started != nil {
			if err := json.Unmarshal(f.Started, &started); err != nil {
				return nil, err
			}
		}
		pod.Status.StartTime = &metav1.Time{Time: start.Add(started.duration())}
	}
	since := started
	if f.ReadySince != nil {
		since = *f.ReadySince
	}
	if string(f.Ready) != "null" {
		status := v1.ConditionTrue
		if string(f.Ready) == "false" {
			status = v1.ConditionFalse
		}
		pod.Status.Conditions = []v1.PodCondition{{
			Type: v1.PodReady, Status: status,
			LastTransitionTime: metav1.Time{Time: start.Add(since.duration())},
		}}
	}
	pod.Spec = f.spec()
	return pod, nil
}

func (f PodFacts) spec() v1.PodSpec {
	spec := v1.PodSpec{}
	names := make([]string, 0, len(f.Containers))
	for name := range f.Containers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		spec.Containers = append(spec.Containers, container(name, f.Containers[name]))
	}
	if len(names) == 0 {
		spec.Containers = []v1.Container{container("main", f.Requests)}
	}
	if f.PodLevel != nil {
		spec.Resources = &v1.ResourceRequirements{Requests: list(f.PodLevel)}
	}
	return spec
}

func container(name string, requests map[string]resource.Quantity) v1.Container {
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: list(requests)}}
}

func list(amounts map[string]resource.Quantity) v1.ResourceList {
	found := v1.ResourceList{}
	for name, amount := range amounts {
		found[v1.ResourceName(name)] = amount
	}
	return found
}
