//! The workloads of the semaphore with Tokio's, on one thread: sem WORKLOAD prints the figure.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

const PAIRS: usize = 10_000_000;
const HANDOVERS: usize = 2_000_000;
const QUEUE: usize = 1_000;
const CANCELS_LEAST: usize = 1_000_000;
const EXPIRIES: usize = 1_000_000;

type Waiting<'a> = Pin<Box<dyn Future<Output = Result<SemaphorePermit<'a>, AcquireError>> + 'a>>;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn each(start: Instant, count: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / count as f64
}

fn pair() -> f64 {
    let sem = Semaphore::new(1);
    runtime().block_on(async {
        let start = Instant::now();
        for _ in 0..PAIRS {
            drop(sem.acquire().await.unwrap());
        }
        each(start, PAIRS)
    })
}

fn handover() -> f64 {
    runtime().block_on(async {
        let sem = Arc::new(Semaphore::new(1));
        let held = sem.acquire().await.unwrap();
        let tasks: Vec<_> = (0..QUEUE)
            .map(|_| {
                let sem = sem.clone();
                tokio::task::spawn(async move {
                    for _ in 0..HANDOVERS / QUEUE {
                        drop(sem.acquire().await.unwrap());
                    }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        let start = Instant::now();
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        each(start, HANDOVERS)
    })
}

fn silent_waker() -> Waker {
    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(std::ptr::null(), &TABLE)
    }
    fn nothing(_: *const ()) {}
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);
    unsafe { Waker::from_raw(clone(std::ptr::null())) }
}

fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state: u64 = 1;
    for i in (1..count).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(i, ((state >> 33) as usize) % (i + 1));
    }
    order
}

/// A canceled acquire is a dropped future; no task is around it.
fn cancel(count: usize) -> f64 {
    let sem = Semaphore::new(1);
    let held = sem.try_acquire().unwrap();
    let order = shuffled(count);
    let waker = silent_waker();
    let mut context = Context::from_waker(&waker);
    let (mut done, mut sum) = (0, Duration::ZERO);
    while done < CANCELS_LEAST {
        let mut waiting: Vec<Option<Waiting>> = Vec::with_capacity(count);
        for _ in 0..count {
            let mut one: Waiting = Box::pin(sem.acquire());
            assert!(matches!(one.as_mut().poll(&mut context), Poll::Pending));
            waiting.push(Some(one));
        }
        let start = Instant::now();
        for &i in &order {
            waiting[i] = None;
        }
        sum += start.elapsed();
        done += count;
    }
    drop(held);
    sum.as_nanos() as f64 / done as f64
}

/// A million tasks time out; the clock stands until all wait, and jumps.
fn expiry() -> f64 {
    runtime().block_on(async {
        let sem = Arc::new(Semaphore::new(1));
        let _held = sem.acquire().await.unwrap();
        let begin = Instant::now();
        let order = shuffled(EXPIRIES);
        let until = tokio::time::Instant::now() + Duration::from_secs(5);
        let tasks: Vec<_> = order
            .into_iter()
            .map(|i| {
                let sem = sem.clone();
                tokio::task::spawn(async move {
                    let at = until + Duration::from_nanos(i as u64 * 1000);
                    assert!(tokio::time::timeout_at(at, sem.acquire()).await.is_err());
                })
            })
            .collect();
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_secs(7).saturating_sub(begin.elapsed()));
        let start = Instant::now();
        for task in tasks {
            task.await.unwrap();
        }
        each(start, EXPIRIES)
    })
}

fn main() {
    let figure = match std::env::args().nth(1).unwrap_or_default().as_str() {
        "pair" => pair(),
        "handover" => handover(),
        "cancel-1k" => cancel(1_000),
        "cancel-1m" => cancel(1_000_000),
        "expiry" => expiry(),
        _ => std::process::exit(2),
    };
    println!("{figure}");
}
