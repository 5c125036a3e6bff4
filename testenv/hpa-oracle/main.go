// Command hpa-oracle answers scaling questions with the genuine HorizontalController of the
// Kubernetes version pinned in go.mod, on a virtual clock.
//
// It reads one JSON case per line on standard input and writes one JSON answer per line on
// standard output, in input order. See README.md for both schemas.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// Case is one line of input.
type Case struct {
	ID string `json:"id"`
	// HPA is a HorizontalPodAutoscaler of autoscaling/v2; defaults are filled in.
	HPA json.RawMessage `json:"hpa"`
	// Observations are what each sync sees, by ascending time.
	Observations []Observation `json:"observations"`
}

// Answer is one line of output.
type Answer struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	Syncs []Sync `json:"syncs,omitzero"`
}

func main() {
	klog.SetLogger(klog.Logger{})
	utilruntime.ErrorHandlers = nil // one of them sleeps by the real clock
	// A bubble of testing/synctest has a clock of its own, which time.Now shows; it can be had
	// inside a test only, so the program runs one.
	answers := os.Stdout
	os.Stdout = os.Stderr // for the verdict of the test
	everything := []testing.InternalTest{{Name: "Answer", F: func(t *testing.T) {
		if err := run(t, os.Stdin, answers); err != nil {
			t.Error(err)
		}
	}}}
	os.Args = []string{os.Args[0], "-test.timeout=0"}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, everything, nil, nil)
}

// run answers every case of in, one after another.
func run(t *testing.T, in io.Reader, out io.Writer) error {
	writer := bufio.NewWriter(out)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(bufio.NewReader(in))
	for {
		var c Case
		switch err := decoder.Decode(&c); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		answer := Answer{ID: c.ID}
		synctest.Test(t, func(t *testing.T) {
			syncs, err := replay(t.Context(), c)
			if err != nil {
				answer.Error = fmt.Sprint(err)
			}
			answer.Syncs = syncs
		})
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
}
