import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { certificateSigningRequestKind } from "../../kinds/certificates/certificate-signing-request.ts";
import { type CsrCondition, type CsrSpec, type CsrStatus, hasCondition } from "../../kinds/certificates/csr-fields.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/** A certificate request that has no certificate yet and was not denied. */
export interface OpenRequest {
  readonly spec: CsrSpec;
  readonly status: CsrStatus;
}

/**
 * Calls `decide` for each open certificate request at the start and whenever the request changes.
 *
 * @param decide - returns the fields to change in the request's status; `undefined` to leave it as it is
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

/** Copy of a status with an additional condition that is true from `nowMs` on. */
export function withTrueCondition(
  { conditions = [] }: CsrStatus,
  condition: Pick<CsrCondition, "type" | "reason" | "message">,
  nowMs: number,
): CsrStatus {
  const now = rfc3339(nowMs);
  return { conditions: [...conditions, { status: "True", ...condition, lastUpdateTime: now, lastTransitionTime: now }] };
}
