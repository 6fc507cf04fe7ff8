import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../resources/disposables.ts";
import { certificateSigningRequestKind } from "../kinds/certificates/certificate-signing-request.ts";
import { type CsrCondition, type CsrSpec, type CsrStatus, hasCondition } from "../kinds/certificates/csr-fields.ts";
import type { ControllerContext } from "./shared/controller-context.ts";
import { createWorkQueue } from "./shared/work-queue.ts";

/** A certificate request that has no certificate yet, and has not been denied. */
export interface OpenRequest {
  readonly spec: CsrSpec;
  readonly status: CsrStatus;
}

/**
 * Looks at each certificate request that is open, whenever it changes.
 *
 * @param decide - what is to be written to its status; `undefined`: nothing
 */
export function followOpenRequests(context: ControllerContext, decide: (request: OpenRequest) => CsrStatus | undefined): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(certificateSigningRequestKind, ({ type, object }) => type !== "DELETED" && queue.add(object.metadata.name)));
  return resources;

  function sync(name: string): void {
    const csr = cluster.get(certificateSigningRequestKind, undefined, name);
    const status: CsrStatus = csr?.["status"] ?? {};
    if (csr === undefined || status.certificate !== undefined || hasCondition(status, "Denied")) return;
    const outcome = decide({ spec: csr["spec"], status });
    if (outcome === undefined) return;
    const change = (object: typeof csr): typeof csr => ({ ...object, status: { ...object["status"], ...outcome } });
    cluster.update(certificateSigningRequestKind, undefined, name, change, "status");
  }
}

/** A status with one more condition, which is true since now. */
export function withTrueCondition(
  { conditions = [] }: CsrStatus,
  condition: Pick<CsrCondition, "type" | "reason" | "message">,
  nowMs: number,
): CsrStatus {
  const now = rfc3339(nowMs);
  return { conditions: [...conditions, { status: "True", ...condition, lastUpdateTime: now, lastTransitionTime: now }] };
}
