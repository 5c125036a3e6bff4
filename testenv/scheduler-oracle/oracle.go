package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// Oracle answers cases; it keeps nothing from one case to the next.
type Oracle struct {
	// Validate refuses objects an API server would refuse.
	Validate bool
	// Raw adds the scores before normalisation and weight.
	Raw bool
	// Preempt runs preemption for the first pod that fits nowhere, and ends there.
	Preempt bool
}

// Answer runs one scheduling cycle for every pending pod of the case.
func (o *Oracle) Answer(c Case) (answer Answer) {
	answer.ID = c.ID
	defer func() {
		if problem := recover(); problem != nil {
			answer = Answer{ID: c.ID, Error: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	pods, err := o.schedule(c)
	if err != nil {
		answer.Error = err.Error()
	}
	answer.Pods = pods
	return answer
}

func (o *Oracle) schedule(c Case) ([]PodAnswer, error) {
	cfg, err := loadConfig(c.Config)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	var waiting []*v1.Pod
	for i, data := range c.Objects {
		obj, err := decode(data, o.Validate)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		if pod, ok := obj.(*v1.Pod); ok {
			// The scheduler's pod informer selects by phase, which the fake client ignores.
			if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
				continue
			}
			if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
				waiting = append(waiting, pod)
			}
		}
		objects = append(objects, obj)
	}

	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	cycle, err := newCycle(ctx, cfg, objects)
	if err != nil {
		return nil, err
	}
	defer cycle.sched.SchedulingQueue.Close()

	answers := []PodAnswer{}
	for _, podInfo := range cycle.queue(ctx, waiting) {
		answer := cycle.run(ctx, podInfo, o)
		answers = append(answers, answer)
		if answer.Preemption != nil {
			break
		}
	}
	return answers, nil
}

// loadConfig decodes, defaults and validates as the kube-scheduler command does.
func loadConfig(data json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	var text string
	switch {
	case len(data) == 0 || string(data) == "null":
		return latest.Default()
	case json.Unmarshal(data, &text) != nil:
		text = string(data)
	}
	obj, kind, err := scheme.Codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as KubeSchedulerConfiguration, got %s: ", kind)
	}
	cfg.APIVersion = kind.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, err
	}
	return cfg, nil
}

// cycle runs scheduling cycles of one scheduler.
type cycle struct {
	sched    *scheduler.Scheduler
	snapshot *internalcache.Snapshot
	first    framework.Framework
	storage  *storage
	client   *fake.Clientset
}

func newCycle(ctx context.Context, cfg *config.KubeSchedulerConfiguration, objects []runtime.Object) (*cycle, error) {
	everyNode := int32(100)
	for i := range cfg.Profiles {
		cfg.Profiles[i].PercentageOfNodesToScore = nil
	}
	client := fake.NewSimpleClientset(objects...)
	informers := scheduler.NewInformerFactory(client, 0, nil)
	snapshot := internalcache.NewEmptySnapshot()
	recorders := profile.RecorderFactory(func(string) events.EventRecorderLogger { return &events.FakeRecorder{} })
	sched, err := scheduler.New(ctx, client, informers, nil, recorders,
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithParallelism(cfg.Parallelism),
		scheduler.WithPercentageOfNodesToScore(&everyNode),
		scheduler.WithNodeInfoSnapshot(snapshot),
	)
	if err != nil {
		return nil, err
	}
	for _, extender := range sched.Extenders {
		if extender.IsFilter() || extender.IsPrioritizer() {
			return nil, fmt.Errorf("extender %q is called over the network: not supported", extender.Name())
		}
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	return &cycle{
		sched:    sched,
		snapshot: snapshot,
		first:    sched.Profiles[cfg.Profiles[0].SchedulerName],
		storage:  &storage{client: client, informers: informers},
		client:   client,
	}, nil
}

// queue returns the pods a scheduler would try, in the order of the real queue
// sort plugin; pods that are equal to it keep their order.
func (c *cycle) queue(ctx context.Context, waiting []*v1.Pod) []*framework.QueuedPodInfo {
	var queued []*framework.QueuedPodInfo
	for _, pod := range waiting {
		profile, found := c.sched.Profiles[pod.Spec.SchedulerName]
		if !found || held(ctx, profile, pod) {
			continue
		}
		// The error means an unparsable term, which the plugins report themselves.
		podInfo, _ := framework.NewPodInfo(pod)
		queued = append(queued, &framework.QueuedPodInfo{
			PodInfo:        podInfo,
			QueueingParams: framework.QueueingParams{Timestamp: pod.CreationTimestamp.Time},
		})
	}
	less := c.first.QueueSortFunc()
	slices.SortStableFunc(queued, func(a, b *framework.QueuedPodInfo) int {
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
	return queued
}

// held tells whether a PreEnqueue plugin keeps the pod out of the queue.
func held(ctx context.Context, profile framework.Framework, pod *v1.Pod) bool {
	for _, plugin := range profile.PreEnqueuePlugins() {
		if !plugin.PreEnqueue(ctx, pod).IsSuccess() {
			return true
		}
	}
	return false
}

// run does what Scheduler.schedulePod does, but looks at every node, keeps all
// scores and breaks ties by node name; then it assumes the pod on its node.
func (c *cycle) run(ctx context.Context, podInfo *framework.QueuedPodInfo, o *Oracle) PodAnswer {
	pod := podInfo.Pod
	answer := PodAnswer{
		Pod:        pod.Namespace + "/" + pod.Name,
		Feasible:   []string{},
		Rejected:   map[string]string{},
		RejectedBy: map[string]string{},
		Scores:     map[string]map[string]int64{},
		Final:      map[string]int64{},
		Top:        []string{},
	}
	fail := func(err error) PodAnswer {
		answer.Error = err.Error()
		return answer
	}
	if err := c.sched.Cache.UpdateSnapshot(klog.FromContext(ctx), c.snapshot); err != nil {
		return fail(err)
	}
	if c.snapshot.NumNodesInPlacement() == 0 {
		answer.Message = scheduler.ErrNoNodesAvailable.Error()
		return answer
	}

	profile := c.sched.Profiles[pod.Spec.SchedulerName]
	state := framework.NewCycleState()
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	feasible, statuses, err := c.filter(ctx, profile, state, pod, &answer)
	if err != nil {
		return fail(err)
	}
	for _, node := range feasible {
		answer.Feasible = append(answer.Feasible, node.Node().Name)
	}
	slices.Sort(answer.Feasible)

	answer.Top = slices.Clone(answer.Feasible)
	if len(feasible) > 1 {
		if err := score(ctx, profile, state, pod, feasible, o.Raw, &answer); err != nil {
			return fail(err)
		}
	}
	answer.Tie = len(answer.Top) > 1
	if err := c.verify(ctx, profile, podInfo, &answer); err != nil {
		return fail(err)
	}
	if len(answer.Top) == 0 {
		if o.Preempt {
			answer.Preemption, err = c.preempt(ctx, profile, state, pod, statuses)
			if err != nil {
				return fail(err)
			}
		}
		return answer
	}
	if err := c.assume(ctx, profile, state, podInfo, answer.Top[0]); err != nil {
		return fail(err)
	}
	answer.Node = &answer.Top[0]
	return answer
}

// verify runs the scheduler's own SchedulePod on the same state: it must take
// one of the best nodes, or refuse with the same message.
func (c *cycle) verify(ctx context.Context, profile framework.Framework, podInfo *framework.QueuedPodInfo, answer *PodAnswer) error {
	state := framework.NewCycleState()
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	result, err := c.sched.SchedulePod(ctx, profile, state, podInfo)
	switch {
	case err != nil && err.Error() != answer.Message:
		return fmt.Errorf("the scheduler itself says: %w", err)
	case err == nil && !slices.Contains(answer.Top, result.SuggestedHost):
		return fmt.Errorf("the scheduler itself takes %q", result.SuggestedHost)
	case err == nil && profile.HasScorePlugins() && result.FeasibleNodes != len(answer.Feasible):
		return fmt.Errorf("the scheduler itself finds %d feasible nodes", result.FeasibleNodes)
	}
	return nil
}

// filter follows Scheduler.findNodesThatFitPod.
func (c *cycle) filter(ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, answer *PodAnswer) ([]fwk.NodeInfo, *framework.NodeToStatus, error) {
	allNodes, err := c.snapshot.ListNodesInPlacement()
	if err != nil {
		return nil, nil, err
	}
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	result, status, restricting := profile.RunPreFilterPlugins(ctx, state, pod)
	nodes := allNodes
	switch {
	case !status.IsSuccess() && !status.IsRejected():
		return nil, nil, status.AsError()
	case !status.IsSuccess():
		answer.PreFilterError = status.Message()
		diagnosis.PreFilterMsg = status.Message()
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		nodes = nil
	case !result.AllNodes():
		nodes = nil
		for _, name := range sets.List(result.NodeNames) {
			if node, err := c.snapshot.GetNodeInPlacement(name); err == nil {
				nodes = append(nodes, node)
			}
		}
		diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(restricting))))
	}

	if status.IsSuccess() && pod.Status.NominatedNodeName != "" {
		if node, err := c.snapshot.GetNodeInPlacement(pod.Status.NominatedNodeName); err == nil {
			if profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node).IsSuccess() {
				return []fwk.NodeInfo{node}, nil, nil
			}
		}
	}

	var feasible []fwk.NodeInfo
	passed := sets.New[string]()
	for _, node := range nodes {
		status := profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		switch {
		case status.Code() == fwk.Error:
			return nil, nil, status.AsError()
		case status.IsSuccess():
			feasible = append(feasible, node)
			passed.Insert(node.Node().Name)
		default:
			diagnosis.NodeToStatus.Set(node.Node().Name, status)
			diagnosis.AddPluginStatus(status)
		}
	}

	for _, node := range allNodes {
		name := node.Node().Name
		if passed.Has(name) {
			continue
		}
		status := diagnosis.NodeToStatus.Get(name)
		answer.Rejected[name] = strings.Join(ordered(status.Reasons()), ", ")
		answer.RejectedBy[name] = status.Plugin()
		if status.Plugin() == "" {
			answer.RejectedBy[name] = strings.Join(sets.List(restricting), ",")
		}
	}
	if len(feasible) == 0 {
		fitError := &framework.FitError{Pod: pod, NumAllNodes: len(allNodes), Diagnosis: diagnosis}
		answer.Message = fitError.Error()
	}
	return feasible, diagnosis.NodeToStatus, nil
}

// ordered sorts the reasons that name scalar resources, the last ones in the
// list: upstream takes them from a map, in any order.
func ordered(reasons []string) []string {
	reasons = slices.Clone(reasons)
	first := len(reasons)
	for first > 0 && scalar(reasons[first-1]) {
		first--
	}
	slices.Sort(reasons[first:])
	return reasons
}

func scalar(reason string) bool {
	resource, found := strings.CutPrefix(reason, "Insufficient ")
	return found && resource != "cpu" && resource != "memory" && resource != "ephemeral-storage"
}

// score follows prioritizeNodes of the scheduler.
func score(ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, raw bool, answer *PodAnswer) error {
	if !profile.HasScorePlugins() {
		for _, node := range nodes {
			answer.Final[node.Node().Name] = 1
		}
		return nil
	}
	if status := profile.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		return status.AsError()
	}
	scored, status := profile.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return status.AsError()
	}
	if raw {
		answer.Raw = map[string]map[string]int64{}
	}
	best := slices.MaxFunc(scored, func(a, b fwk.NodePluginScores) int {
		return int(a.TotalScore - b.TotalScore)
	}).TotalScore
	answer.Top = nil
	for _, node := range scored {
		answer.Final[node.Name] = node.TotalScore
		answer.Scores[node.Name] = byPlugin(node.Scores)
		if raw {
			answer.Raw[node.Name] = byPlugin(node.RawScores)
		}
		if node.TotalScore == best {
			answer.Top = append(answer.Top, node.Name)
		}
	}
	slices.Sort(answer.Top)
	return nil
}

func byPlugin(scores []fwk.PluginScore) map[string]int64 {
	result := map[string]int64{}
	for _, score := range scores {
		result[score.Name] = score.Score
	}
	return result
}

// assume makes the next cycles see the pod on the node, as Scheduler.assumeAndReserve does.
func (c *cycle) assume(ctx context.Context, profile framework.Framework, state fwk.CycleState, podInfo *framework.QueuedPodInfo, node string) error {
	assumed := podInfo.Pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := c.sched.Cache.AssumePod(klog.FromContext(ctx), assumed); err != nil {
		return err
	}
	c.sched.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	if status := profile.RunReservePluginsReserve(ctx, state, assumed, node); !status.IsSuccess() {
		return errors.Join(errors.New("reserving failed"), status.AsError())
	}
	return c.storage.bind(ctx, profile, state, assumed, node)
}
