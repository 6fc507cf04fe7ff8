import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { expect, test } from "vitest";
import type { FindingStatus } from "../finding.ts";
import { judgeAnswer, judgeClock, judgeCredentials, judgeIdentity, judgeVersion } from "./cluster.ts";

const nowMs = Date.UTC(2026, 0, 2);
const dayMs = 86_400_000;
const authority = createCertificateAuthority("test");

function clientCertificate(fromDays: number, toDays: number) {
  const validity = { notBeforeMs: nowMs + fromDays * dayMs, notAfterMs: nowMs + toDays * dayMs };
  return { tls: { certificate: authority.issue({ commonName: "me", usages: ["client auth"], validity }).certificate } };
}

function bearer(claims: object) {
  const encoded = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return { tls: {}, authorization: `Bearer e30.${encoded}.c2lnbmF0dXJl` };
}

test.for<[what: string, skewSeconds: number, tookMs: number, status: FindingStatus]>([
  ["the same time", 0, 20, "pass"],
  ["four seconds ahead", 4, 20, "pass"],
  ["seven seconds ahead", 7, 20, "warn"],
  ["seven seconds behind", -7, 20, "warn"],
  ["seven seconds ahead of an answer that took six", 7, 6_000, "pass"],
  ["a minute and a half ahead", 90, 20, "fail"],
  ["an hour behind", -3_600, 20, "fail"],
])("a clock: %s", ([, skewSeconds, tookMs, status]) => {
  const serverMs = nowMs - skewSeconds * 1000;
  const sentMs = nowMs - tookMs / 2;

  expect(judgeClock({ date: new Date(serverMs).toUTCString(), sentMs, receivedMs: sentMs + tookMs }).status).toBe(status);
});

test("an answer without a date is a warning, and the direction of a skew is told", () => {
  expect(judgeClock({ date: undefined, sentMs: 0, receivedMs: 1 }).status).toBe("warn");
  expect(judgeClock({ date: "soon", sentMs: 0, receivedMs: 1 }).status).toBe("warn");
  expect(judgeClock({ date: new Date(nowMs).toUTCString(), sentMs: nowMs - 90_000, receivedMs: nowMs - 90_000 }).message).toMatch(
    /^this machine's clock is 9[01] s behind/,
  );
});

test.for<[release: string, status: FindingStatus]>([
  ["v1.30.14", "fail"],
  ["v1.31.0", "warn"],
  ["v1.33.9", "warn"],
  ["v1.34.0", "pass"],
  ["v1.36.3", "pass"],
  ["v1.37.0", "warn"],
  ["v1.39.1", "warn"],
  ["v1.40.0", "fail"],
])("Kubernetes %s: %s", ([release, status]) => {
  expect(judgeVersion(release).status).toBe(status);
});

test.for<[what: string, identity: Parameters<typeof judgeCredentials>[0], status: FindingStatus, says: RegExp]>([
  ["a valid certificate", clientCertificate(-1, 100), "pass", /valid until 2026-04-12/],
  ["a certificate that expires in three days", clientCertificate(-1, 3), "warn", /expires on 2026-01-05/],
  ["an expired certificate", clientCertificate(-9, -1), "fail", /expired on 2026-01-01/],
  ["a certificate of the future", clientCertificate(1, 9), "fail", /valid only from 2026-01-03.*clock/],
  ["a token", bearer({ exp: nowMs / 1000 + 600 }), "pass", /valid until/],
  ["an expired token", bearer({ exp: nowMs / 1000 - 1 }), "fail", /the token has expired/],
  ["a token without an expiry", { tls: {}, authorization: "Bearer abc" }, "pass", /without an expiry/],
  ["a token that is not JSON inside", { tls: {}, authorization: "Bearer a.b.c" }, "pass", /without an expiry/],
  ["nothing", { tls: {} }, "warn", /system:anonymous/],
])("credentials: %s", ([, identity, status, says]) => {
  expect(judgeCredentials(identity, { nodeName: "vk", nowMs })).toMatchObject({ status, message: expect.stringMatching(says) });
});

test("what renews a token depends on whose it is", () => {
  const repairOf = (sub: string) => judgeCredentials(bearer({ exp: 1, sub }), { nodeName: "vk", nowMs }).repair[0];

  expect(repairOf("system:serviceaccount:team:robot")).toMatch(/^kubectl create token robot -n team /);
  expect(repairOf("somebody@example.com")).toMatch(/^# sign in again, /);
});

test("a finding about a token does not contain it", () => {
  const identity = bearer({ exp: 1, sub: "somebody" });

  expect(JSON.stringify(judgeCredentials(identity, { nodeName: "vk", nowMs }))).not.toContain(identity.authorization.slice(7, 20));
});

test.for<[what: string, answer: { status: number; text: string }, status: FindingStatus]>([
  ["a version", { status: 200, text: '{"gitVersion":"v1.36.3"}' }, "pass"],
  ["a refusal of an API server", { status: 401, text: '{"kind":"Status","code":401}' }, "pass"],
  ["a refusal of something else", { status: 401, text: "<html>sign in</html>" }, "fail"],
  ["another JSON", { status: 200, text: '{"hello":"world"}' }, "fail"],
  ["null", { status: 200, text: "null" }, "fail"],
  ["an error", { status: 503, text: "" }, "fail"],
])("an answer to GET /version: %s", ([, answer, status]) => {
  expect(judgeAnswer({ ...answer, date: undefined, sentMs: 1, receivedMs: 3 }, "https://c").status).toBe(status);
});

test.for<[username: string, groups: readonly string[], nodes: readonly string[], status: FindingStatus]>([
  ["admin", [], ["a"], "pass"],
  ["system:node:a", ["system:nodes"], ["a"], "pass"],
  ["system:node:a", [], ["a"], "fail"],
  ["system:node:b", ["system:nodes"], ["a"], "fail"],
  ["system:node:a", ["system:nodes"], ["a", "b"], "fail"],
  ["system:anonymous", ["system:unauthenticated"], ["a"], "fail"],
])("the identity %s with groups %j for nodes %j: %s", ([username, groups, nodes, status]) => {
  expect(judgeIdentity({ username, groups }, nodes).status).toBe(status);
});
