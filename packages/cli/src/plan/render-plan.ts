import type { PlannedRequest, PodPlan } from "@virtual-kubelet/core";
import { redact } from "../config/redact.ts";

/** The plan of one pod, and of whom it is. */
export interface ShownPlan extends PodPlan {
  /** `NAMESPACE/NAME`. */
  readonly pod: string;
  readonly node: string;
  readonly provider: string;
}

/** The plan without what is secret by its name or by its looks. */
export function withoutSecrets(plan: ShownPlan): ShownPlan {
  const requests = plan.requests.map((request) => ({
    ...request,
    ...(request.headers && { headers: redact(request.headers) as Record<string, string> }),
    ...(request.body !== undefined && { body: redact(request.body) }),
  }));
  return { ...plan, requests };
}

/** The plan as text: what a person reads, requests as they go over the wire. */
export function renderPlan({ pod, node, provider, refused, requests, notes }: ShownPlan): string {
  if (refused.length > 0) {
    const lines = refused.map(({ fieldPath, message }) => `  ${fieldPath === undefined ? "" : `${fieldPath}: `}${message}`);
    return [`# pod ${pod}: provider ${provider} does not run it`, ...lines, ""].join("\n");
  }
  const count = `${requests.length} ${requests.length === 1 ? "request" : "requests"}`;
  return [
    `# pod ${pod} on node ${node}: provider ${provider} sends ${count}`,
    ...notes.map((note) => `# (${note})`),
    ...requests.flatMap((request, index) => ["", ...renderRequest(request, index + 1)]),
    "",
  ].join("\n");
}

function renderRequest({ purpose, method, path, headers = {}, body, note }: PlannedRequest, number: number): string[] {
  return [
    `# ${number}. ${purpose}${note === undefined ? "" : `; ${note}`}`,
    `${method} ${path}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ["", typeof body === "string" ? body : JSON.stringify(body, undefined, 2)]),
  ];
}
