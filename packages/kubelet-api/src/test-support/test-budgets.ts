import { VirtualClock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/kube-client";
import { resolveServerLimits, type ServerLimits } from "../server/server-limits.ts";
import { ThrottledLog } from "../server/throttled-log.ts";
import { StreamSlots, type StreamSlotsOptions } from "../streams/stream-slots.ts";
import { StreamBudgets } from "../streams/stream-budgets.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** The server's budgets, with the default limits unless others are given. */
export function testBudgets(limits: ServerLimits = {}, logger: Logger = new RecordingLogger()): StreamBudgets {
  return new StreamBudgets({ ...resolveServerLimits(limits), throttledLog: new ThrottledLog({ clock: new VirtualClock(), logger }) });
}

/** Slots for this many streams. */
export function testSlots(max: number, options: Partial<StreamSlotsOptions> = {}): StreamSlots {
  const clock = new VirtualClock();
  return new StreamSlots({ max, clock, throttledLog: new ThrottledLog({ clock, logger: new RecordingLogger() }), ...options });
}
