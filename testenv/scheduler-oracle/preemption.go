package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// preempt runs the genuine PostFilter plugins and reports what they decided: the
// node, and the pods that they then delete in the background. It returns nil if
// preemption does not help.
func (c *cycle) preempt(ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, statuses *framework.NodeToStatus) (*Preemption, error) {
	result, status := profile.RunPostFilterPlugins(ctx, state, pod, statuses)
	// A PostFilter plugin fails if a PreFilter plugin refused the pod before its own.
	if !status.IsSuccess() || result == nil || result.NominatedNodeName == "" {
		return nil, nil
	}
	var count int
	var node string
	if _, err := fmt.Sscanf(status.Message(), "preemption: found a potential placement for pod on node %s preempting %d victims", &node, &count); err != nil {
		return nil, fmt.Errorf("%q: %w", status.Message(), err)
	}
	var victims []string
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		victims = c.deleted()
		return len(victims) == count, nil
	})
	return &Preemption{Node: result.NominatedNodeName, Victims: victims}, err
}

// deleted lists the pods that were deleted so far.
func (c *cycle) deleted() []string {
	var names []string
	for _, action := range c.client.Actions() {
		if deletion, ok := action.(clienttesting.DeleteAction); ok && action.Matches("delete", "pods") {
			names = append(names, deletion.GetNamespace()+"/"+deletion.GetName())
		}
	}
	slices.Sort(names)
	return names
}
