import type { Answer, Api } from "./api.ts";

/** Errors of refused objects: status, message and causes of each; `taken` for objects that the server would store. */
export async function refusals(api: Api, path: string, objects: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [name, object] of Object.entries(objects)) answers[name] = refusal(await api.post(`${path}?dryRun=All`, object));
  return answers;
}

/** Errors of refused changes of a stored object, each as a merge patch. */
export async function refusedChanges(api: Api, path: string, changes: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [name, change] of Object.entries(changes)) answers[name] = refusal(await api.patch("merge", `${path}?dryRun=All`, change));
  return answers;
}

export function refusal({ status, body }: Answer): unknown {
  if (status < 300) return "taken";
  const { message, reason, details } = body;
  return { status, reason, message: message.slice(0, 300), ...(details === undefined ? {} : { details }) };
}
