import { runResumably } from "../../rest/steps.ts";
import { eventKind } from "../../kinds/event/event.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";

/** Source: Kubernetes v1.36.3 pkg/controlplane/apiserver/options, `--event-ttl`. */
const eventTtlMs = 60 * 60_000;

/** Deletes each event one hour after its last write. */
export function startEventExpiry({ cluster, clock, onError }: Pick<ControllerContext, "cluster" | "clock" | "onError">): Disposable {
  /** Expiry times by key, oldest first. The order holds because the TTL is constant and a write moves the event to the end. */
  const due = new Map<string, number>();
  let timer: Disposable | undefined;
  const watch = cluster.watch(eventKind, ({ type, object }) => {
    const key = keyOf(object);
    due.delete(key);
    if (type !== "DELETED") due.set(key, clock.monotonic() + eventTtlMs);
    arm();
  });
  for (const event of cluster.list(eventKind)) due.set(keyOf(event), clock.monotonic() + eventTtlMs);
  arm();

  function arm(): void {
    const next = due.values().next();
    if (timer !== undefined || next.done) return;
    timer = clock.setTimer(Math.max(0, next.value - clock.monotonic()), expire);
  }

  function expire(): void {
    timer = undefined;
    const now = clock.monotonic();
    for (const [key, dueMs] of due) {
      if (dueMs > now) break;
      due.delete(key);
      const { namespace, name } = parseKey(key);
      try {
        runResumably(() => cluster.delete(eventKind, namespace, name))?.catch(onError);
      } catch (error) {
        onError(error);
      }
    }
    arm();
  }

  return {
    [Symbol.dispose]() {
      watch[Symbol.dispose]();
      timer?.[Symbol.dispose]();
    },
  };
}
