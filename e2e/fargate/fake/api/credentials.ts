import type { Clock } from "@virtual-kubelet/clock";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { AwsError } from "./aws-error.ts";

/** Difference of a request's date that AWS accepts. Source: IAM User Guide, "Troubleshoot Signature Version 4". */
const maxSkewMs = 300_000;

/** Keys that the fake accepts. */
export interface FakeKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A request as its signature covers it. Header names are in lower case. */
export interface SignedRequest {
  readonly method: string;
  /** Path, with the query if there is one. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Checks the signature of requests, as "AWS Signature Version 4" describes it. Keys can expire, and others can take their place, while a
 * client runs.
 */
export class FakeCredentials {
  /** Clock with which the dates of requests are compared, as AWS does; `undefined`: dates are not checked. */
  clock: Pick<Clock, "now"> | undefined;
  readonly #keys = new Map<string, FakeKeys>();
  readonly #expired = new Set<string>();

  accept(keys: FakeKeys): void {
    this.#keys.set(keys.accessKeyId, keys);
  }

  /** From now on, requests with these keys are answered with ExpiredTokenException. */
  expire(accessKeyId: string): void {
    this.#expired.add(accessKeyId);
  }

  /** @throws AwsError if the request is not signed with accepted keys for that service and region */
  check(request: SignedRequest, service: string, region: string): void {
    const authorization = request.headers["authorization"] ?? "";
    const [, credential = "", signedHeaders = "", signature = ""] =
      /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(authorization) ?? [];
    const [accessKeyId = "", date = "", ownRegion = "", ownService = ""] = credential.split("/");
    const keys = this.#keys.get(accessKeyId);
    if (this.#expired.has(accessKeyId))
      throw new AwsError("ExpiredTokenException", "The security token included in the request is expired");
    if (keys === undefined || request.headers["x-amz-security-token"] !== keys.sessionToken)
      throw new AwsError("UnrecognizedClientException", "The security token included in the request is invalid.");
    if (ownRegion !== region || ownService !== service)
      throw new AwsError("InvalidSignatureException", `Credential should be scoped to a valid region and to service '${service}'.`);
    this.#checkDate(request.headers["x-amz-date"] ?? "");
    const scope = `${date}/${region}/${service}/aws4_request`;
    const expected = signatureOf(request, { signedHeaders: signedHeaders.split(";"), scope, keys });
    if (signature.length !== expected.length || !timingSafeEqual(Buffer.from(signature), Buffer.from(expected)))
      throw new AwsError(
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
      );
  }

  #checkDate(date: string): void {
    if (this.clock === undefined) return;
    const nowMs = this.clock.now();
    const signedMs = Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5"));
    const [now, limit] = [nowMs, nowMs + Math.sign(signedMs - nowMs) * maxSkewMs].map(toBasicDate);
    if (signedMs < nowMs - maxSkewMs)
      throw new AwsError("InvalidSignatureException", `Signature expired: ${date} is now earlier than ${limit} (${now} - 5 min.)`);
    if (signedMs > nowMs + maxSkewMs)
      throw new AwsError("InvalidSignatureException", `Signature not yet current: ${date} is still later than ${limit} (${now} + 5 min.)`);
  }
}

function signatureOf(
  { method, path, headers, body }: SignedRequest,
  { signedHeaders, scope, keys }: { readonly signedHeaders: readonly string[]; readonly scope: string; readonly keys: FakeKeys },
): string {
  const [pathname = "/", query = ""] = path.split("?");
  const canonicalQuery = query.split("&").filter(Boolean).sort().join("&");
  const canonicalHeaders = signedHeaders.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}\n`).join("");
  const canonical = [method, pathname, canonicalQuery, canonicalHeaders, signedHeaders.join(";"), sha256(body)].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"] ?? "", scope, sha256(canonical)].join("\n");
  const key = scope.split("/").reduce<Buffer>((secret, part) => hmac(secret, part), Buffer.from(`AWS4${keys.secretAccessKey}`));
  return hmac(key, toSign).toString("hex");
}

/** As in `20260101T000000Z`. */
function toBasicDate(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+|[:-]/g, "");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
