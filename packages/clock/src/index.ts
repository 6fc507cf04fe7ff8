/**
 * Time and randomness that are passed to whatever waits, so that tests and simulations control both.
 *
 * @packageDocumentation
 */
export { sleepOn, type Clock, type Random } from "./clock.ts";
export { byDueTime, DelayHeap, type Delayed } from "./delay-heap.ts";
export { SeededRandom } from "./seeded-random.ts";
export { SharedTimers } from "./shared-timers.ts";
export { backgroundClock, systemClock, systemRandom } from "./system-clock.ts";
export { VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
