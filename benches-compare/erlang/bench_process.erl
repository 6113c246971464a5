%% How fast are Erlang's processes?
%%
%% The command line and the line of JSON are those of `bench-process-peers` and
%% `bench-task-peers`; the sizes and steps are those of the modules `process` and `task` in the
%% crate `benches`.
-module(bench_process).
-export([main/0]).

-define(SENDERS, 100).
-define(CHILDREN, 10).
-define(MILLION, 1000000).
%% A run that takes longer than this needs no warm-up, and no repetition either.
-define(LONG_NS, 1500000000).
%% As the module `ticks` of the crate `benches` says.
-define(TICKED, 100).
-define(HOGS_MORE, 4).
-define(LEAD_MS, 300).
-define(GRACE_MS, 100).

main() ->
    Args = parse(init:get_plain_arguments()),
    case workload(maps:get(workload, Args)) of
        none -> fail("no workload " ++ maps:get(workload, Args));
        Run -> Run(Args)
    end,
    %% A million processes end slowly.
    erlang:halt(0).

parse([Workload | Words]) -> parse(Words, #{workload => Workload, workers => 2, repeats => 3});
parse([]) -> fail("name a workload").

parse([], Args) -> Args;
parse(["--list" | _], #{workload := Workload}) ->
    case workload(Workload) of
        none -> ok;
        _ -> io:format("erlang~n")
    end,
    erlang:halt(0);
parse(["--peer", _ | Words], Args) -> parse(Words, Args);
parse(["--workers", N | Words], Args) -> parse(Words, Args#{workers => list_to_integer(N)});
parse(["--scale", N | Words], Args) -> parse(Words, Args#{scale => list_to_integer(N)});
parse(["--repeats", N | Words], Args) -> parse(Words, Args#{repeats => list_to_integer(N)});
parse([Word | _], _) -> fail("unknown argument " ++ Word).

fail(Problem) ->
    io:format(standard_error, "bench-process-erlang: ~s~n", [Problem]),
    erlang:halt(2).

%% What a workload runs. Only our tasks have engines.
workload(Name) ->
    case lists:suffix("_jit", Name) of
        true -> engineless(lists:sublist(Name, length(Name) - 4));
        false -> engineless(Name)
    end.

engineless("spawn") -> fun(Args) -> spawn_all(Args, "ns/process", ?MILLION) end;
engineless("memory") -> fun(Args) -> memory(Args, "bytes/process", ?MILLION) end;
engineless("ping_pong") -> fun(Args) -> ring(Args, "ns/message", 2, 1) end;
engineless("ping_pong_1") -> engineless("ping_pong");
engineless("ring_1") -> fun(Args) -> ring(Args, "ns/hop", 1000, 1) end;
engineless("ring_100") -> fun(Args) -> ring(Args, "ns/hop", 1000, 100) end;
engineless("fan_in") -> fun fan_in/1;
engineless("fan_in_many") -> fun fan_in/1;
engineless("skynet") -> fun skynet/1;
engineless("latency") -> fun latency/1;
engineless("spawn_run_drop") -> fun(Args) -> spawn_all(Args, "ns/task", 300000) end;
engineless("spawn_run_drop_1") -> engineless("spawn_run_drop");
engineless("live") -> fun(Args) -> memory(Args, "bytes/task", 100000) end;
engineless("live_page") -> engineless("live");
engineless("ring_1000") -> engineless("ring_1");
engineless("ticks") -> fun latency/1;
engineless(_) -> none.

%% The size asked for, or the workload's own.
items(Args, Usual) -> maps:get(scale, Args, Usual).

%% Runs once to warm up, then against the clock: the median, in nanoseconds.
time(Args, Run) ->
    case timed(Run) of
        First when First > ?LONG_NS ->
            First;
        _ ->
            Samples = [timed(Run) || _ <- lists:seq(1, maps:get(repeats, Args))],
            lists:nth((length(Samples) + 1) div 2, lists:sort(Samples))
    end.

timed(Run) ->
    Start = erlang:monotonic_time(nanosecond),
    Run(),
    erlang:monotonic_time(nanosecond) - Start.

report(Args, Unit, Value, Items) ->
    report(Args, maps:get(workload, Args), Unit, Value, io_lib:format("\"items\":~b", [Items])).

report(Args, Workload, Unit, Value, Beside) ->
    io:format(
        "{\"workload\":\"~s\",\"who\":\"erlang\",\"unit\":\"~s\",\"value\":~s,~s,\"workers\":~b}~n",
        [Workload, Unit, text(Value), Beside, maps:get(workers, Args)]).

text(Value) when is_float(Value) -> io_lib:format("~.3f", [Value]);
text(Value) -> Value.

%% One process starts the others. Each counts itself and ends. The counter keeps a value per
%% scheduler, as the tally of the crate `benches` keeps one per thread.
spawn_all(Args, Unit, Usual) ->
    Items = items(Args, Usual),
    Ns = time(Args, fun() ->
        Done = counters:new(1, [write_concurrency]),
        spawn(fun() -> spawn_brief(Items, Done) end),
        wait_for(Done, Items)
    end),
    report(Args, Unit, Ns / Items, Items).

spawn_brief(0, _) -> ok;
spawn_brief(N, Done) ->
    spawn(fun() -> counters:add(Done, 1, 1) end),
    spawn_brief(N - 1, Done).

wait_for(Counter, Total) ->
    case counters:get(Counter, 1) of
        Total -> ok;
        _ -> timer:sleep(1), wait_for(Counter, Total)
    end.

memory(Args, Unit, Usual) ->
    Items = items(Args, Usual),
    Started = counters:new(1, [write_concurrency]),
    Few = Items div 100 + 1,
    idle(Few, Started),
    wait_for(Started, Few),
    timer:sleep(200),
    Before = resident(),
    idle(Items, Started),
    wait_for(Started, Few + Items),
    timer:sleep(200),
    report(Args, Unit, (resident() - Before) / Items, Items).

idle(0, _) -> ok;
idle(N, Started) ->
    spawn(fun() -> counters:add(Started, 1, 1), receive _ -> ok end end),
    idle(N - 1, Started).

%% The resident set in bytes, from a line like `VmRSS:    1234 kB`.
resident() ->
    {ok, File} = file:open("/proc/self/status", [read, raw, binary]),
    {ok, Status} = file:read(File, 65536),
    {match, [Kilobytes]} = re:run(Status, "VmRSS:\\s*([0-9]+)", [{capture, [1], list}]),
    list_to_integer(Kilobytes) * 1024.

%% A member that gets a number above 0 sends one less to the next.
ring(Args, Unit, Members, Tokens) ->
    Hops = items(Args, ?MILLION) div Tokens,
    Outside = self(),
    Ring = [spawn(fun() -> member(Outside) end) || _ <- lists:seq(1, Members)],
    lists:zipwith(fun(Pid, Next) -> Pid ! {next, Next} end, Ring, tl(Ring) ++ [hd(Ring)]),
    Places = list_to_tuple(Ring),
    Ns = time(Args, fun() ->
        [element(Token * Members div Tokens + 1, Places) ! Hops || Token <- lists:seq(0, Tokens - 1)],
        [receive done -> ok end || _ <- lists:seq(1, Tokens)]
    end),
    report(Args, Unit, Ns / (Hops * Tokens), Hops * Tokens).

member(Outside) -> receive {next, Next} -> member(Outside, Next) end.

member(Outside, Next) ->
    receive
        0 -> Outside ! done;
        Hops -> Next ! Hops - 1
    end,
    member(Outside, Next).

%% The receiver keeps its messages off its heap, so that senders do not contend for it.
fan_in(Args) ->
    Each = items(Args, 2 * ?MILLION) div ?SENDERS,
    Outside = self(),
    All = Each * ?SENDERS,
    Options = [{message_queue_data, off_heap}],
    Receiver = spawn_opt(fun() -> receiver(Outside, All, All) end, Options),
    Ns = time(Args, fun() ->
        [spawn(fun() -> send(Receiver, Each) end) || _ <- lists:seq(1, ?SENDERS)],
        receive done -> ok end
    end),
    report(Args, "M msgs/s", All * 1.0e3 / Ns, All).

receiver(Outside, 0, All) -> Outside ! done, receiver(Outside, All, All);
receiver(Outside, Left, All) -> receive _ -> receiver(Outside, Left - 1, All) end.

send(_, 0) -> ok;
send(Receiver, N) -> Receiver ! N, send(Receiver, N - 1).

%% A leaf sends its number to its parent, and a parent the sum.
skynet(Args) ->
    Leaves = power(items(Args, ?MILLION), 1),
    Expected = Leaves * (Leaves - 1) div 2,
    Ns = time(Args, fun() ->
        Outside = self(),
        spawn(fun() -> node(Outside, 0, Leaves) end),
        receive Expected -> ok end
    end),
    report(Args, "ms", Ns / Leaves, Leaves).

power(Items, Power) when Power * ?CHILDREN =< Items -> power(Items, Power * ?CHILDREN);
power(_, Power) -> Power.

node(Above, First, 1) -> Above ! First;
node(Above, First, Leaves) ->
    Me = self(),
    Share = Leaves div ?CHILDREN,
    start_children(Me, First, Share, ?CHILDREN),
    Above ! sum(?CHILDREN, 0).

start_children(_, _, _, 0) -> ok;
start_children(Me, First, Share, N) ->
    spawn(fun() -> node(Me, First, Share) end),
    start_children(Me, First + Share, Share, N - 1).

sum(0, Sum) -> Sum;
sum(N, Sum) -> receive Part -> sum(N - 1, Sum + Part) end.

%% Timers are armed for an absolute time; the emulator's have a resolution of a millisecond.
latency(Args) ->
    Ticks = items(Args, 2000),
    First = erlang:monotonic_time(millisecond) + ?LEAD_MS,
    Late = atomics:new(?TICKED * Ticks, []),
    [spawn(fun() -> ticked(First, Late, P * Ticks, 0, Ticks) end) || P <- lists:seq(0, ?TICKED - 1)],
    [spawn(fun() -> hog(0) end) || _ <- lists:seq(1, maps:get(workers, Args) + ?HOGS_MORE)],
    End = First + Ticks + ?GRACE_MS,
    erlang:start_timer(End, self(), over, [{abs, true}]),
    receive {timeout, _, over} -> ok end,
    report_late(Args, Late, Ticks, First, End).

ticked(_, _, _, Ticks, Ticks) -> ok;
ticked(First, Late, At, Tick, Ticks) ->
    erlang:start_timer(First + Tick, self(), tick, [{abs, true}]),
    receive {timeout, _, tick} -> ok end,
    Ns = erlang:monotonic_time(nanosecond) - (First + Tick) * ?MILLION,
    atomics:put(Late, At + Tick + 1, max(Ns, 1)),
    ticked(First, Late, At, Tick + 1, Ticks).

hog(N) -> hog(N + 1).

report_late(Args, Late, Ticks, First, End) ->
    All = ?TICKED * Ticks,
    Ms = lists:sort([late_ms(atomics:get(Late, At + 1), End - First - At rem Ticks)
                     || At <- lists:seq(0, All - 1)]),
    Handled = length([At || At <- lists:seq(1, All), atomics:get(Late, At) > 0]),
    Beside = io_lib:format("\"handled\":~.3f", [Handled / All]),
    lists:foreach(fun({Name, Percent}) ->
        Value = if
            Handled * 2 < All -> "null,\"note\":\"starved\"";
            true -> lists:nth(ceil(All * Percent / 100), Ms) * 1.0
        end,
        report(Args, maps:get(workload, Args) ++ Name, "ms", Value, Beside)
    end, [{"_p50", 50}, {"_p99", 99}]).

late_ms(0, Waited) -> Waited;
late_ms(Ns, _) -> Ns / 1.0e6.
