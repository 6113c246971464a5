module bench-process-go

go 1.19
