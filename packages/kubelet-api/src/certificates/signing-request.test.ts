import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { createHash } from "node:crypto";
import { noMetrics, type CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { clientPurpose, requestOutcome, servingPurpose, submitRequest, type RequestOutcome } from "./signing-request.ts";

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const type = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest" };
const spec = { request: Buffer.from("pem").toString("base64"), signerName: "kubernetes.io/kubelet-serving" };
const idle = new AbortController().signal;
const name = `node-csr-${createHash("sha256").update("pem").digest("hex").slice(0, 40)}`;

function rig() {
  const [api, clock] = [new FakeApi(), new VirtualClock()];
  const deps = { client: api.client, clock, random: new SeededRandom(1), logger: new RecordingLogger(), metrics: noMetrics };
  return { api, clock, deps };
}

function request(status: CertificateSigningRequest["status"]): CertificateSigningRequest {
  return { metadata: { name: "csr", uid: "u" }, spec: { request: "", signerName: "s" }, status };
}

/** Result of a request with this status; `open` if it is not decided. */
async function outcomeOf(status: CertificateSigningRequest["status"]): Promise<RequestOutcome | "open"> {
  const { api, clock, deps } = rig();
  api.put(collection, request(status));
  const stop = new AbortController();
  const outcome = requestOutcome({ name: "csr", uid: "u" }, deps, stop.signal).catch(() => "open" as const);
  await clock.advance(0);
  await clock.advance(0);
  stop.abort();
  return outcome;
}

test("the name of a request is derived from its content, and its signer is that of kubelets", async () => {
  const { api, deps } = rig();
  api.onCreate = (object) => ({ ...object, spec: { ...(object as CertificateSigningRequest).spec, username: "ann" } }) as never;

  expect(await submitRequest("pem", servingPurpose, deps.client, idle)).toEqual({
    name,
    uid: expect.stringMatching(/^uid-/),
    username: "ann",
  });

  expect(api.created).toEqual([
    {
      metadata: { name },
      spec: {
        request: Buffer.from("pem").toString("base64"),
        signerName: "kubernetes.io/kubelet-serving",
        usages: ["digital signature", "server auth"],
      },
    },
  ]);
});

test("the request of a client certificate has the signer and the usages of kubelets", async () => {
  const { api, deps } = rig();

  await submitRequest("pem", clientPurpose, deps.client, idle);

  expect(api.created).toMatchObject([
    { spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet", usages: ["digital signature", "client auth"] } },
  ]);
});

test("a request of the same name with other contents is refused, since somebody else made it", async () => {
  const { api, deps } = rig();
  api.put(collection, { metadata: { name, uid: "before" } });
  api.override = (method) =>
    method === "GET" ? { body: { ...type, metadata: { name, uid: "before" }, spec: { ...spec, request: "b3RoZXI=" } } } : undefined;

  await expect(submitRequest("pem", servingPurpose, deps.client, idle)).rejects.toThrow(`${name}: there is one with other contents`);
});

test("a request that already exists is used", async () => {
  const { api, deps } = rig();
  api.put(collection, { metadata: { name, uid: "before" } });
  api.override = (method) => (method === "GET" ? { body: { ...type, metadata: { name, uid: "before" }, spec } } : undefined);

  expect(await submitRequest("pem", servingPurpose, deps.client, idle)).toEqual({ name, uid: "before", username: "" });
  expect(api.requests).toEqual([`POST ${collection}`, `GET ${collection}/${name}`]);
});

test("if creating a request is forbidden, it is not looked for", async () => {
  const { api, deps } = rig();
  api.override = () => ({ status: 403, body: { kind: "Status", code: 403, message: "no rights" } });

  await expect(submitRequest("pem", servingPurpose, deps.client, idle)).rejects.toThrow("no rights");
  expect(api.requests).toEqual([`POST ${collection}`]);
});

test("without UID and user in the server's answer, both are empty", async () => {
  const { api, deps } = rig();
  api.override = () => ({ status: 201, body: { ...type, metadata: { name }, spec: {} } });

  expect(await submitRequest("pem", servingPurpose, deps.client, idle)).toEqual({ name, uid: "", username: "" });
});

const refusal = (type: string, status = "True", more: object = {}): CertificateSigningRequest["status"] => ({
  conditions: [{ type, status, ...more }],
});

test.each<[string, CertificateSigningRequest["status"], RequestOutcome | "open"]>([
  ["without a status is open", undefined, "open"],
  ["that is approved is open until its certificate is issued", refusal("Approved"), "open"],
  ["with a certificate is issued", { certificate: Buffer.from("PEM").toString("base64") }, { kind: "issued", certificate: "PEM" }],
  ["that is denied is refused", refusal("Denied"), { kind: "refused", condition: "Denied", reason: "" }],
  [
    "that failed is refused, with reason and message",
    refusal("Failed", "True", { reason: "SignerValidationFailure", message: "bad usages" }),
    { kind: "refused", condition: "Failed", reason: "SignerValidationFailure: bad usages" },
  ],
  [
    "that is denied without a reason has the condition's message",
    refusal("Denied", "True", { message: "not you" }),
    { kind: "refused", condition: "Denied", reason: "not you" },
  ],
  ["whose condition Denied is False is open", refusal("Denied", "False"), "open"],
  ["whose condition Failed is Unknown is open", refusal("Failed", "Unknown"), "open"],
])("a request %s", async (_what, status, expected) => {
  expect(await outcomeOf(status)).toEqual(expected);
});

test("a request that does not exist is gone, and so is one that is deleted or replaced by one with another UID", async () => {
  const { api, clock, deps } = rig();
  expect(await requestOutcome({ name: "csr", uid: "u" }, deps, idle)).toEqual({ kind: "gone" });
  api.put(collection, request(undefined));
  expect(await requestOutcome({ name: "csr", uid: "other" }, deps, idle)).toEqual({ kind: "gone" });

  const outcome = requestOutcome({ name: "csr", uid: "u" }, deps, idle);
  await clock.advance(0);
  api.remove(`${collection}/csr`);

  expect(await outcome).toEqual({ kind: "gone" });
});

test("aborting rejects with the signal's reason", async () => {
  const { api, clock, deps } = rig();
  api.put(collection, request(undefined));
  const stop = new AbortController();
  const outcome = requestOutcome({ name: "csr", uid: "u" }, deps, stop.signal);
  outcome.catch(() => {});
  await clock.advance(0);

  stop.abort(new Error("stopping"));

  await expect(outcome).rejects.toThrow("stopping");
  expect(clock.pending).toBe(0);
});

test("after the result nothing is watched", async () => {
  const { api, clock, deps } = rig();
  api.put(collection, request(refusal("Denied")));

  await requestOutcome({ name: "csr", uid: "u" }, deps, idle);
  const { length } = api.requests;
  await clock.advance(3_600_000);

  expect([clock.pending, api.requests.length]).toEqual([0, length]);
});
