package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// One goroutine starts the others, which end at once. They have no channel, in Go's favour.
func spawn(args arguments, unit string, usual int) {
	items := args.items(usual)
	ns := args.time(func() {
		var all sync.WaitGroup
		all.Add(items)
		go func() {
			for n := 0; n < items; n++ {
				go all.Done()
			}
		}()
		all.Wait()
	})
	args.report(args.workload, unit, ns/float64(items), count(items))
}

// The channel has room for one message.
func memory(args arguments, unit string, usual int) {
	items := args.items(usual)
	idle := func(number int) {
		var started sync.WaitGroup
		started.Add(number)
		for n := 0; n < number; n++ {
			go func() {
				mailbox := make(chan uint64, 1)
				started.Done()
				<-mailbox
			}()
		}
		started.Wait()
		time.Sleep(200 * time.Millisecond)
	}
	idle(items/100 + 1)
	before := resident()
	idle(items)
	args.report(args.workload, unit, float64(resident()-before)/float64(items), count(items))
}

// resident is the resident set in bytes, from a line like `VmRSS:    1234 kB`.
func resident() int {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmRSS:") {
			kilobytes, _ := strconv.Atoi(strings.Fields(line)[1])
			return kilobytes * 1024
		}
	}
	fail("no /proc to read")
	return 0
}

// A member that gets a number above 0 sends one less to the next.
func ring(args arguments, unit string, members, tokens int) {
	hops := args.items(1_000_000) / tokens
	mailboxes := make([]chan uint64, members)
	for at := range mailboxes {
		mailboxes[at] = make(chan uint64, buffer)
	}
	done := make(chan bool, tokens)
	for at := range mailboxes {
		go func(mailbox, next chan uint64) {
			for left := range mailbox {
				if left == 0 {
					done <- true
				} else {
					next <- left - 1
				}
			}
		}(mailboxes[at], mailboxes[(at+1)%members])
	}
	ns := args.time(func() {
		for token := 0; token < tokens; token++ {
			mailboxes[token*members/tokens] <- uint64(hops)
		}
		for token := 0; token < tokens; token++ {
			<-done
		}
	})
	args.report(args.workload, unit, ns/float64(hops*tokens), count(hops*tokens))
}

func fanIn(args arguments) {
	each := args.items(2_000_000) / senders
	mailbox := make(chan uint64, buffer_many)
	done := make(chan bool, 1)
	go func() {
		got := 0
		for range mailbox {
			got++
			if got == each*senders {
				got = 0
				done <- true
			}
		}
	}()
	ns := args.time(func() {
		for sender := 0; sender < senders; sender++ {
			go func() {
				for n := 0; n < each; n++ {
					mailbox <- uint64(n)
				}
			}()
		}
		<-done
	})
	args.report(args.workload, "M msgs/s", float64(each*senders)*1e3/ns, count(each*senders))
}

// A leaf sends its number to its parent's channel, and a parent the sum.
func skynet(args arguments) {
	const children = 10
	leaves := 1
	for leaves*children <= args.items(1_000_000) {
		leaves *= children
	}
	var node func(above chan<- uint64, first, leaves uint64)
	node = func(above chan<- uint64, first, leaves uint64) {
		if leaves == 1 {
			above <- first
			return
		}
		mailbox := make(chan uint64, children)
		share := leaves / children
		for child := uint64(0); child < children; child++ {
			go node(mailbox, first+child*share, share)
		}
		sum := uint64(0)
		for child := 0; child < children; child++ {
			sum += <-mailbox
		}
		above <- sum
	}
	ns := args.time(func() {
		told := make(chan uint64, 1)
		go node(told, 0, uint64(leaves))
		if <-told != uint64(leaves)*uint64(leaves-1)/2 {
			fail("a leaf is missing, or counted twice")
		}
	})
	args.report(args.workload, "ms", ns/1e6*1e6/float64(leaves), count(leaves))
}
