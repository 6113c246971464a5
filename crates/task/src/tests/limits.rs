//! Limits: whatever a guest can ask for without end is refused, and others go on.

use super::*;
use crate::{SpawnError, scripted::MEMORY, trap::TrapKind};

fn limited(set: impl FnOnce(&mut crate::Limits)) -> Options {
    let mut options = Options::default();
    set(&mut options.limits);
    options
}

#[test]
fn a_spawn_bomb_is_refused_and_room_comes_back() {
    check_with(limited(|limits| limits.tasks = 10), || {
        Guests::new()
            .add("main", |g, _| async move {
                for _ in 0..3 {
                    let gate = g.open(0).await;
                    let mut tasks = Vec::new();
                    loop {
                        match g.spawn(1, gate).await {
                            -7 => break,
                            task => tasks.push(task),
                        }
                    }
                    assert_eq!(tasks.len(), 9);
                    g.close(gate).await;
                    for task in tasks {
                        assert_eq!(g.await_task(task).await, Ok(1));
                    }
                }
                0
            })
            .add("other", |g, gate| async move { g.receive(gate, 0).await.unwrap_err().into() })
    });
}

#[test]
fn too_many_tasks_from_rust_are_refused_with_the_limit() {
    let simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |_, _| async { 0 });
    let program = guests.load(&simulation, limited(|limits| limits.tasks = 2));
    program.spawn("main", [0]).unwrap();
    program.spawn("main", [0]).unwrap();
    let error = program.spawn("main", [0]).unwrap_err();
    assert_eq!(error, SpawnError::TooManyTasks(2));
    assert_eq!(
        error.to_string(),
        "there are 2 tasks, and the limits allow no more: wait for some to end, or raise `limits.tasks`"
    );
}

#[test]
fn channels_and_mutexes_are_counted() {
    let options = limited(|limits| (limits.channels, limits.mutexes) = (3, 2));
    check_with(options, || {
        Guests::new().add("main", |g, _| async move {
            let first = g.open(0).await;
            assert!(g.open(0).await > 0 && g.open(0).await > 0);
            assert_eq!(g.open(0).await, -7);
            g.close(first).await;
            assert!(g.open(0).await > 0, "a closed one makes room");
            let mutex = g.open_mutex(b"").await;
            assert!(g.open_mutex(b"").await > 0);
            assert_eq!(g.open_mutex(b"").await, -7);
            assert_eq!(g.close_mutex(mutex).await, 0);
            assert!(g.open_mutex(b"").await > 0, "a closed one makes room");
            0
        })
    });
}

#[test]
fn a_capacity_below_0_or_beyond_the_limit_is_refused() {
    check_with(limited(|limits| limits.channel_capacity = 10), || {
        Guests::new().add("main", |g, _| async move {
            assert!(g.open(10).await > 0);
            assert_eq!(g.open(11).await, -7);
            assert_eq!(g.open(i32::MAX).await, -7);
            assert_eq!(g.open(-1).await, -9);
            assert_eq!(g.open(i32::MIN).await, -9);
            0
        })
    });
}

#[test]
fn messages_cells_inputs_and_lines_have_a_length() {
    check_with(limited(|limits| limits.message_bytes = 10), || {
        Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(9).await;
                assert_eq!(g.send(channel, &[0; 10]).await, 0);
                assert_eq!(g.send(channel, &[0; 11]).await, 7);
                let mutex = g.open_mutex(&[0; 10]).await;
                assert_eq!(g.open_mutex(&[0; 11]).await, -7);
                g.lock(mutex, 10).await.unwrap();
                assert_eq!(g.unlock(mutex, &[0; 11]).await, 7);
                assert_eq!(g.unlock(mutex, &[0; 10]).await, 0, "it was still locked");
                assert_eq!(g.spawn_with(1, &[0; 11]).await, -7);
                assert!(g.spawn_with(1, &[0; 10]).await > 0);
                g.log(0, &[b'x'; 11]).await;
                0
            })
            .add("other", |_, _| async { 0 })
    });
}

#[test]
fn a_channel_flood_is_refused_and_room_comes_back() {
    // Each message counts 32 bytes besides its own.
    check_with(limited(|limits| limits.bytes_in_flight = 1_000), || {
        Guests::new().add("main", |g, _| async move {
            let channel = g.open(1_000).await;
            for (len, count) in [(0, 31), (68, 10), (968, 1), (969, 0)] {
                let mut sent = 0;
                while g.send(channel, &vec![0; len]).await == 0 {
                    sent += 1;
                }
                assert_eq!(sent, count, "of {len} bytes");
                assert_eq!(g.send(channel, &vec![0; len]).await, 7);
                for _ in 0..sent {
                    g.receive(channel, 1_000).await.unwrap();
                }
            }
            assert!(g.open_mutex(&[0; 900]).await > 0);
            assert_eq!(g.open_mutex(&[0; 900]).await, -7);
            assert_eq!(g.send(channel, &[0; 100]).await, 7);
            assert_eq!(g.spawn_with(0, &[0; 100]).await, -7);
            0
        })
    });
}

#[test]
fn an_unlock_that_would_be_too_much_keeps_the_lock_and_the_cell() {
    check_with(limited(|limits| limits.bytes_in_flight = 100), || {
        Guests::new().add("main", |g, _| async move {
            let mutex = g.open_mutex(b"cell").await;
            g.lock(mutex, 100).await.unwrap();
            assert_eq!(g.unlock(mutex, &[0; 69]).await, 7);
            assert_eq!(g.unlock(mutex, &[0; 68]).await, 0);
            assert_eq!(g.lock(mutex, 100).await, Ok(vec![0; 68]));
            assert_eq!(g.unlock(mutex, b"").await, 0);
            0
        })
    });
}

#[test]
fn a_memory_bomb_is_refused_per_task_and_per_program() {
    let options = limited(|limits| {
        limits.task_memory = 3 * MEMORY;
        limits.program_memory = 5 * MEMORY;
    });
    let guests = Guests::new()
        .add("main", |g, _| async move {
            assert!(g.grow_memory(2 * MEMORY).await);
            assert!(g.grow_memory(3 * MEMORY).await);
            assert!(!g.grow_memory(3 * MEMORY + 1).await, "the task's own limit");
            let other = g.spawn(1, 0).await;
            assert_eq!(g.await_task(other).await, Ok(7));
            let tasks = [g.spawn(2, 0).await, g.spawn(2, 0).await, g.spawn(2, 0).await];
            let mut failed = 0;
            for task in tasks {
                failed += i64::from(g.await_task(task).await == Err(3));
            }
            failed
        })
        .add("other", |g, _| async move {
            assert!(g.grow_memory(2 * MEMORY).await);
            assert!(!g.grow_memory(3 * MEMORY).await, "the program's limit");
            7
        })
        .add("sleeper", |g, _| async move {
            g.sleep(1_000_000).await;
            0
        });
    let (program, results) = simulate(options, guests, 0);
    assert_eq!(value(&results[0]), 1, "no room for the memory of the third");
    let failed = results.iter().find(|result| result.outcome.is_err()).unwrap();
    let TaskError::Trap(trap) = error(failed) else { panic!("{failed:?}") };
    assert_eq!(trap.kind, TrapKind::Limit);
    assert_eq!(program.stats().memory, 0);
}

#[test]
fn tables_have_a_limit_too() {
    use crate::{engine::Calls, host::Host, id::TaskId};
    let simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |_, _| async { 0 });
    let program = guests.load(&simulation, limited(|limits| limits.table_entries = 10));
    program.spawn("main", [0]).unwrap();
    let own = program.shared().registry.find(TaskId::new(1)).unwrap();
    let mut host = Host::new(program.shared(), &own, None);
    assert!(host.grow_table(0, 6));
    assert!(!host.grow_table(0, 5), "a second table");
    assert!(host.grow_table(6, 10));
    assert!(!host.grow_table(10, usize::MAX));
}

#[test]
fn tables_and_stacks_count_in_the_memory_of_the_program() {
    use crate::{engine::Calls, host::Host, id::TaskId};
    let simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |_, _| async { 0 });
    let program = guests.load(&simulation, limited(|limits| limits.program_memory = 1_000));
    program.spawn("main", [0]).unwrap();
    let own = program.shared().registry.find(TaskId::new(1)).unwrap();
    let mut host = Host::new(program.shared(), &own, None);
    assert!(host.begin_stack(100));
    assert!(!host.grow_table(0, 113), "904 bytes");
    assert!(host.grow_table(0, 100));
    assert!(!host.begin_stack(101) && !host.grow_memory(0, 101));
    assert!(host.grow_memory(0, 100));
    assert_eq!(program.stats().memory, 1_000);
    drop(host);
    assert_eq!(program.stats().memory, 0);
}

/// Main spawns two that fail, of which it awaits one, and five that return.
#[test]
fn failures_that_are_forgotten_before_anybody_awaited_them_are_counted() {
    let guests = || {
        Guests::new()
            .add("main", |g, _| async move {
                g.spawn(1, 1).await;
                g.sleep(1_000_000).await; // it has failed by then
                let failing = g.spawn(1, 1).await;
                assert_eq!(g.await_task(failing).await, Err(3));
                for _ in 0..5 {
                    let good = g.spawn(1, 0).await;
                    assert_eq!(g.await_task(good).await, Ok(0));
                }
                0
            })
            .add("other", |g, fails| async move { if fails == 1 { g.trap().await } else { 0 } })
    };
    for (kept, forgotten_failures) in [(8, 0), (2, 1), (0, 1)] {
        let options = limited(|limits| limits.results = kept);
        let (program, results) = simulate(options, guests(), 0);
        assert_eq!(results.len(), kept);
        let stats = program.stats();
        assert_eq!((stats.completed, stats.failed), (6, 2));
        assert_eq!(stats.forgotten, 8 - kept as u64);
        assert_eq!(stats.forgotten_failures, forgotten_failures, "{kept} are kept");
    }
}

#[test]
fn fuel_is_used_up_then_the_task_fails() {
    let options = Options { fuel: Some(100_000), ..Options::default() };
    let guests = Guests::new().add("main", |g, _| async move { g.loop_for_ever().await });
    let (program, results) = simulate(options, guests, 0);
    assert_eq!(error(&results[0]).to_string(), "out of fuel (in main)");
    assert_eq!(results[0].fuel, 100_000);
    assert_eq!(program.stats().fuel, 100_000);
}

#[test]
fn a_flood_of_calls_uses_up_fuel() {
    let options = Options { fuel: Some(100_000), ..Options::default() };
    let guests = Guests::new().add("main", |g, _| async move {
        loop {
            g.now().await;
        }
    });
    let (program, results) = simulate(options, guests, 0);
    assert_eq!(error(&results[0]).to_string(), "out of fuel (in main)");
    assert!(program.stats().host_calls <= 1_000);
}

/// Each new task gets its own copy of what the module has as data.
#[test]
fn whoever_spawns_pays_for_the_data_of_the_new_task() {
    let data = "x".repeat(1 << 20);
    let text = format!(
        r#"(module
            (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
            (memory 17)
            (data (i32.const 0) "{data}")
            (table (export "table") 1 funcref)
            (elem (i32.const 0) func $nothing)
            (func $nothing (param i64))
            (func (export "main") (result i64) (call $spawn (i32.const 0) (i64.const 0))))"#
    );
    let mut simulation = simulation(1, 0);
    let module = wat::parse_str(text).unwrap();
    let program = Program::load(&simulation, module, Options::default()).unwrap();
    program.spawn("main", crate::NO_ARGUMENTS).unwrap();
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(results.len(), 2);
    assert!(results[0].fuel > (1 << 20) / 16, "it has used {}", results[0].fuel);
}

/// A task that waits in a select has a place in the line of each channel.
#[test]
fn places_in_lines_of_a_select_are_counted() {
    check_with(limited(|limits| limits.bytes_in_flight = 1_000), || {
        Guests::new().add("main", |g, _| async move {
            let channel = g.open(0).await;
            for _ in 0..10 {
                assert_eq!(g.select(&[channel; 10], 1_000).await, -2);
            }
            assert_eq!(g.select(&[channel; 100], 1_000).await, -7);
            assert_eq!(g.select(&[channel; 100], 0).await, -2, "it does not wait");
            g.close(channel).await;
            assert_eq!(g.select(&[channel; 100], 1_000).await, 0);
            0
        })
    });
}
