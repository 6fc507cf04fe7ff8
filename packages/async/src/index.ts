/**
 * Primitives for asynchronous work: single flight, keyed mutex, semaphore, and signals.
 *
 * @packageDocumentation
 */
export { withDeadline, type Deadline } from "./deadline.ts";
export { KeyedMutex } from "./keyed-mutex.ts";
export { LinkedSignal } from "./linked-signal.ts";
export { Semaphore } from "./semaphore.ts";
export { Signal } from "./signal.ts";
export { SingleFlight } from "./single-flight.ts";
export { untilAborted } from "./until-aborted.ts";
