// How fast are goroutines and channels, used as processes?
//
// The command line and the line of JSON are those of `bench-process-peers`; the sizes and steps
// are those of the module `process` in the crate `benches`. A process is a goroutine, and its
// mailbox a channel with a buffer.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"time"
)

const (
	who     = "go"
	senders = 100
	// Of a ring's member, and of a receiver with many senders.
	buffer      = 128
	buffer_many = 1024
)

// A run that takes longer than this needs no warm-up, and no repetition either.
const long = 1500 * time.Millisecond

type arguments struct {
	workload string
	workers  int
	scale    int
	repeats  int
}

func main() {
	args := parse(os.Args[1:])
	runtime.GOMAXPROCS(args.workers)
	switch args.workload {
	case "spawn":
		spawn(args)
	case "memory":
		memory(args)
	case "ping_pong", "ping_pong_1":
		ring(args, "ns/message", 2, 1)
	case "ring_1":
		ring(args, "ns/hop", 1000, 1)
	case "ring_100":
		ring(args, "ns/hop", 1000, 100)
	case "fan_in", "fan_in_many":
		fanIn(args)
	case "skynet":
		skynet(args)
	case "latency":
		latency(args)
	default:
		fail("no workload " + args.workload)
	}
}

func parse(words []string) arguments {
	if len(words) == 0 {
		fail("name a workload")
	}
	args := arguments{workload: words[0], workers: 2, repeats: 3}
	for at := 1; at < len(words); at++ {
		number := func() int {
			at++
			if at == len(words) {
				fail(words[at-1] + " needs a value")
			}
			n, err := strconv.Atoi(words[at])
			if err != nil {
				fail(words[at-1] + " wants a whole number")
			}
			return n
		}
		switch words[at] {
		case "--list":
			fmt.Println(who)
			os.Exit(0)
		case "--peer":
			at++
		case "--workers":
			args.workers = number()
		case "--scale":
			args.scale = number()
		case "--repeats":
			args.repeats = number()
		default:
			fail("unknown argument " + words[at])
		}
	}
	return args
}

func fail(problem string) {
	fmt.Fprintln(os.Stderr, "bench-process-go: "+problem)
	os.Exit(2)
}

// items is the size asked for, or the workload's own.
func (args arguments) items(usual int) int {
	if args.scale > 0 {
		return args.scale
	}
	return usual
}

// time runs once to warm up, then against the clock: the median, in nanoseconds.
func (args arguments) time(run func()) float64 {
	timed := func() time.Duration {
		start := time.Now()
		run()
		return time.Since(start)
	}
	if first := timed(); first > long {
		return float64(first)
	}
	samples := make([]float64, args.repeats)
	for at := range samples {
		samples[at] = float64(timed())
	}
	sort.Float64s(samples)
	middle := len(samples) / 2
	if len(samples)%2 == 1 {
		return samples[middle]
	}
	return (samples[middle-1] + samples[middle]) / 2
}

func (args arguments) report(workload, unit string, value float64, beside string) {
	fmt.Printf(`{"workload":"%s","who":"%s","unit":"%s","value":%.3f,%s,"workers":%d}`+"\n",
		workload, who, unit, value, beside, args.workers)
}

func count(items int) string {
	return fmt.Sprintf(`"items":%d`, items)
}
