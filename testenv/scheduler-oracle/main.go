// Command scheduler-oracle answers scheduling questions with the genuine
// kube-scheduler code of the Kubernetes version pinned in go.mod.
//
// It reads one JSON case per line on standard input and writes one JSON answer
// per line on standard output, in input order. See README.md for both schemas.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

// Case is one line of input.
type Case struct {
	ID string `json:"id"`
	// Config is a KubeSchedulerConfiguration: a JSON object, or a string with
	// its YAML text; absent means the defaults of kube-scheduler.
	Config json.RawMessage `json:"config"`
	// Objects are Kubernetes objects with apiVersion and kind.
	Objects []json.RawMessage `json:"objects"`
}

// Answer is one line of output.
type Answer struct {
	ID    string      `json:"id"`
	Error string      `json:"error,omitempty"`
	Pods  []PodAnswer `json:"pods,omitzero"`
}

// PodAnswer tells what one scheduling cycle did with one pending pod.
type PodAnswer struct {
	Pod            string                      `json:"pod"`
	Node           *string                     `json:"node"`
	Feasible       []string                    `json:"feasible"`
	Rejected       map[string]string           `json:"rejected"`
	RejectedBy     map[string]string           `json:"rejected_by"`
	Scores         map[string]map[string]int64 `json:"scores"`
	Raw            map[string]map[string]int64 `json:"raw,omitempty"`
	Final          map[string]int64            `json:"final"`
	Top            []string                    `json:"top"`
	Tie            bool                        `json:"tie"`
	PreFilterError string                      `json:"prefilter_error,omitempty"`
	Message        string                      `json:"message,omitempty"`
	Preemption     *Preemption                 `json:"preemption,omitempty"`
	Error          string                      `json:"error,omitempty"`
}

// Preemption tells for which node a pod was nominated, and which pods were evicted.
type Preemption struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
}

func main() {
	workers := flag.Int("workers", 4, "number of cases answered at the same time")
	validate := flag.Bool("validate", false, "refuse cases with objects an API server would refuse")
	raw := flag.Bool("raw", false, "also report the scores before normalisation and weight")
	preempt := flag.Bool("preempt", false, "run preemption for the first pod that fits nowhere, and end the case there")
	flag.Parse()
	klog.SetLogger(klog.Logger{})

	oracle := &Oracle{Validate: *validate, Raw: *raw, Preempt: *preempt}
	if err := run(oracle, os.Stdin, os.Stdout, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler-oracle:", err)
		os.Exit(1)
	}
}

// run answers every case of in, several at a time, keeping their order.
func run(oracle *Oracle, in io.Reader, out io.Writer, workers int) error {
	pending := make(chan chan Answer, workers)
	failed := make(chan error, 1)
	go func() {
		defer close(pending)
		failed <- read(in, func(c Case) {
			answer := make(chan Answer, 1)
			pending <- answer
			go func() { answer <- oracle.Answer(c) }()
		})
	}()

	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for answer := range pending {
		if err := encoder.Encode(<-answer); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
	return <-failed
}

// read decodes one case after the other and hands each to use.
func read(in io.Reader, use func(Case)) error {
	decoder := json.NewDecoder(bufio.NewReader(in))
	for {
		var c Case
		switch err := decoder.Decode(&c); err {
		case nil:
			use(c)
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
