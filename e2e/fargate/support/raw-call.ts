import { createHash, createHmac } from "node:crypto";
import type { FakeKeys } from "../fake/api/credentials.ts";
import { firstKeys, type FakeAws } from "../fake/fake-aws.ts";

/** Answer of {@link rawCall}. */
export interface RawAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Sends a signed request as it is, without AWS's client, which would drop unknown members.
 *
 * @param target - such as `ecs.RunTask`
 */
export async function rawCall(
  aws: FakeAws,
  target: string,
  input: unknown,
  { keys = firstKeys, date = "20260101T000000Z" }: { readonly keys?: FakeKeys; readonly date?: string } = {},
): Promise<RawAnswer> {
  const [service = "ecs", operation = ""] = target.split(".");
  const prefix = service === "ecs" ? "AmazonEC2ContainerServiceV20141113" : "Logs_20140328";
  const body = typeof input === "string" ? input : JSON.stringify(input);
  const headers: Record<string, string> = {
    "content-type": "application/x-amz-json-1.1",
    host: new URL(aws.endpoint).host,
    "x-amz-date": date,
    "x-amz-target": `${prefix}.${operation}`,
  };
  const names = Object.keys(headers).sort();
  const scope = `${date.slice(0, 8)}/us-east-1/${service}/aws4_request`;
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  const canonical = ["POST", "/", "", ...names.map((name) => `${name}:${headers[name]}`), "", names.join(";"), sha256(body)].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  const hmac = (key: Buffer | string, text: string): Buffer => createHmac("sha256", key).update(text).digest();
  const key = scope.split("/").reduce<Buffer | string>((secret, part) => hmac(secret, part), `AWS4${keys.secretAccessKey}`);
  const signature = hmac(key, toSign).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  const answer = await fetch(aws.endpoint, { method: "POST", headers: { ...headers, authorization }, body });
  return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
}
