import { constants, PerformanceObserver, type PerformanceEntry } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";

/**
 * The space for new objects keeps its first size, 2 MiB with its reserve. By default it grows while the program loads its modules, and never
 * shrinks: an idle node needs 12 MiB more.
 */
const newSpaceFlags = ["--semi-space-growth-factor=1"];

/** In bytes. A heap that holds more after a full collection is kept dense; 2,000 pods of a Deployment need less, 10,000 need more. */
const largeHeapBytes = 64 * 2 ** 20;

/** The next full collection comes when the heap has doubled. */
const usualFlags = ["--heap-growing-percent=100"];

/**
 * The next full collection comes when the heap has grown by half; by default V8 lets it grow up to fourfold. `--optimize-for-size` saves
 * little more memory, and costs a fifth of the processor time that 1,000 nodes need for their pods.
 */
const denseFlags = ["--heap-growing-percent=50"];

/**
 * Makes V8 save memory where that costs little: a small heap is collected as seldom as by default, and a large one is kept dense, which takes
 * more processor time. A heap of 100,000 objects that come and go takes half of what it takes by default.
 *
 * It sets options of V8 for the whole process, so it is for a program, never for a library. V8 reads these options at each collection, so that
 * they have an effect in a process that runs; `--max-semi-space-size` is read only when V8 starts. Source: DynamicGrowingFactor and
 * SemiSpaceNewSpace::Grow of V8.
 *
 * @param given - flags that Node.js was started with; one for the size of the space for new objects has precedence
 */
export function limitHeap(given: readonly string[] = []): void {
  let flags = usualFlags;
  setFlags(flags);
  if (!given.some((flag) => /semi[-_]space/.test(flag))) setFlags(newSpaceFlags);
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some(isFullCollection)) return;
    const wanted = getHeapStatistics().used_heap_size > largeHeapBytes ? denseFlags : usualFlags;
    if (wanted !== flags) setFlags(wanted);
    flags = wanted;
  });
  observer.observe({ entryTypes: ["gc"] });
}

function isFullCollection(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } };
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

function setFlags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}
