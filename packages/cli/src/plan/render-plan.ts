import type { PlannedRequest, PodPlan } from "@virtual-kubelet/core";
import { redact } from "../config/redact.ts";

/** Plan of one pod, with the pod's name. */
export interface ShownPlan extends PodPlan {
  /** `NAMESPACE/NAME`. */
  readonly pod: string;
  readonly node: string;
  readonly provider: string;
}

/** The plan without values that are secret by their name or format. */
export function withoutSecrets(plan: ShownPlan): ShownPlan {
  const requests = plan.requests.map((request) => ({
    ...request,
    ...(request.headers && { headers: redact(request.headers) as Record<string, string> }),
    ...(request.body !== undefined && { body: redact(request.body) }),
  }));
  return { ...plan, requests };
}

/** The plan as text, with the requests as they would be sent. */
export function renderPlan({ pod, node, provider, refused, requests, notes }: ShownPlan): string {
  if (refused.length > 0) {
    const lines = refused.map(({ fieldPath, message }) => {
      const prefix = fieldPath === undefined ? "" : `${fieldPath}: `;
      return `  ${message.startsWith(prefix) ? "" : prefix}${message}`;
    });
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
