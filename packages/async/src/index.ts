/**
 * Primitives for asynchronous work: single flight, keyed mutex, semaphore, signals, and work in turns.
 *
 * @packageDocumentation
 */
export { addAbortCallback, removeAbortCallback } from "./abort-callbacks.ts";
export { withDeadline, type Deadline } from "./deadline.ts";
export { inTurns, type InTurnsOptions } from "./in-turns.ts";
export { KeyedMutex } from "./keyed-mutex.ts";
export { LinkedSignal } from "./linked-signal.ts";
export { Semaphore } from "./semaphore.ts";
export { Signal } from "./signal.ts";
export { SingleFlight } from "./single-flight.ts";
export { untilAborted } from "./until-aborted.ts";
