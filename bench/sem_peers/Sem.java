import java.util.concurrent.Semaphore;

/** The workloads of the semaphore in Java: Sem WORKLOAD fair|unfair prints the figure. */
final class Sem {
    static final int PAIRS = 20_000_000;
    static final int QUEUE = 1_000;
    static final int HANDOVERS = 200_000;
    static final int SECTIONS = 200_000;
    static final long SECTION_NS = 500;
    static final long THINK_NS = 1_500;
    static final int BYPASS_ROUNDS = 20;

    static volatile boolean isServed;

    interface Body {
        void run() throws InterruptedException;
    }

    static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        });
        thread.start();
        return thread;
    }

    static void work(long forNs) {
        long end = System.nanoTime() + forNs;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    static void pairs(Semaphore sem, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            sem.acquire();
            sem.release();
        }
    }

    static double pair(boolean isFair) throws InterruptedException {
        Semaphore sem = new Semaphore(1, isFair);
        pairs(sem, PAIRS / 4); // compiles it
        long start = System.nanoTime();
        pairs(sem, PAIRS);
        return (double) (System.nanoTime() - start) / PAIRS;
    }

    /** Threads, each of which takes its share of all entries. */
    static double rounds(boolean isFair, int threads, int each, Body inside, Body outside)
            throws InterruptedException {
        Semaphore sem = new Semaphore(1, isFair);
        Thread[] all = new Thread[threads];
        sem.acquire();
        for (int i = 0; i < threads; i++) {
            all[i] = start(() -> {
                for (int n = 0; n < each; n++) {
                    sem.acquire();
                    inside.run();
                    sem.release();
                    outside.run();
                }
            });
        }
        while (sem.getQueueLength() < threads) {
            Thread.sleep(1);
        }
        long start = System.nanoTime();
        sem.release();
        for (Thread thread : all) {
            thread.join();
        }
        return (double) (System.nanoTime() - start) / ((double) threads * each);
    }

    static double bypass(boolean isFair) throws InterruptedException {
        int most = 0;
        for (int round = 0; round < BYPASS_ROUNDS; round++) {
            Semaphore sem = new Semaphore(1, isFair);
            int[] later = {0};
            isServed = false;
            sem.acquire();
            Thread early = start(() -> {
                sem.acquire();
                isServed = true;
                sem.release();
            });
            while (!sem.hasQueuedThreads()) {
                Thread.onSpinWait();
            }
            Thread late = start(() -> {
                while (!isServed) {
                    sem.acquire();
                    later[0] += isServed ? 0 : 1;
                    sem.release();
                }
            });
            work(SECTION_NS);
            sem.release();
            early.join();
            late.join();
            most = Math.max(most, later[0]);
        }
        return most;
    }

    public static void main(String[] args) throws InterruptedException {
        boolean isFair = args[1].equals("fair");
        Body nothing = () -> { };
        Body section = () -> work(SECTION_NS);
        double figure = switch (args[0]) {
            case "pair" -> pair(isFair);
            case "handover" -> rounds(isFair, QUEUE, HANDOVERS / QUEUE, nothing, nothing);
            case "blocking-think" -> rounds(isFair, 2, SECTIONS, section, () -> work(THINK_NS));
            case "blocking-tight" -> rounds(isFair, 2, SECTIONS, section, nothing);
            case "bypass" -> bypass(isFair);
            default -> throw new IllegalArgumentException(args[0]);
        };
        System.out.println(figure);
    }
}
