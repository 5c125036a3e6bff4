package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// seen is the metrics client of a case: it answers from the observation of the present sync.
type seen struct {
	start time.Time
	now   Observation
}

var errRead = errors.New("the read failed")

func (s *seen) GetResourceMetric(_ context.Context, name v1.ResourceName, _ string, _ labels.Selector, container string) (metrics.PodMetricsInfo, time.Time, error) {
	key := string(name)
	if container != "" {
		key = container + "/" + key
	}
	return s.perPod(key, "resource metrics API")
}

func (s *seen) GetRawMetric(name string, _ string, _ labels.Selector, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return s.perPod(name, "custom metrics API")
}

func (s *seen) perPod(key, api string) (metrics.PodMetricsInfo, time.Time, error) {
	raw, present := s.now.Metrics[key]
	if present && string(raw) == `"error"` {
		return nil, time.Time{}, fmt.Errorf("unable to fetch metrics from %s: %w", api, errRead)
	}
	found, ok := samples(raw)
	if present && !ok {
		return nil, time.Time{}, fmt.Errorf("not a per-pod metric: %s", raw)
	}
	if len(found) == 0 {
		return nil, time.Time{}, fmt.Errorf("no metrics returned from %s", api)
	}
	info := metrics.PodMetricsInfo{}
	for pod, value := range found {
		if value == nil {
			continue
		}
		facts := s.now.Pods[pod]
		sampled, window := s.now.Time, defaultWindow
		if facts.Sampled != nil {
			sampled = *facts.Sampled
		}
		if facts.Window != nil {
			window = *facts.Window
		}
		info[pod] = metrics.PodMetric{
			Timestamp: s.start.Add(sampled.duration()), Window: window.duration(), Value: value.MilliValue(),
		}
	}
	return info, s.start, nil
}

func (s *seen) single(key, api string) ([]int64, error) {
	raw, present := s.now.Metrics[key]
	if !present {
		return nil, fmt.Errorf("no metrics returned from %s", api)
	}
	if string(raw) == `"error"` {
		return nil, fmt.Errorf("unable to fetch metrics from %s: %w", api, errRead)
	}
	var many []resource.Quantity
	if raw[0] != '[' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	if err := json.Unmarshal(raw, &many); err != nil {
		return nil, err
	}
	var values []int64
	for _, value := range many {
		values = append(values, value.MilliValue())
	}
	return values, nil
}

func (s *seen) GetObjectMetric(name string, _ string, _ *autoscalingv2.CrossVersionObjectReference, _ labels.Selector) (int64, time.Time, error) {
	values, err := s.single(name, "custom metrics API")
	if err != nil {
		return 0, time.Time{}, err
	}
	return values[0], s.start, nil
}

func (s *seen) GetExternalMetric(name, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	values, err := s.single(name, "external metrics API")
	return values, s.start, err
}
