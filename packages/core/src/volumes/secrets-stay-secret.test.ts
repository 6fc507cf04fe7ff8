import { inspect } from "node:util";
import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { LogFields, Logger, PodSpec } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";

const inEnv = 'canary-in-"env"-4f1d';
const inVolume = "canary-in-volume-9c2e";
const rotated = "canary-rotated-77aa";

const spec: Partial<PodSpec> = {
  containers: [{ name: "app", image: "busybox", env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "env", key: "key" } } }] }],
  volumes: [
    { name: "files", secret: { secretName: "files" } },
    { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] } },
  ],
};

/** Everything that leaves the node or is written down: requests' bodies and paths, log records. */
function everything(rig: NodeRig, logged: readonly string[]): string {
  const requests = rig.client.calls.map(({ verb, resource, namespace, name, body }) =>
    JSON.stringify({ verb, resource, namespace, name, body }),
  );
  return [...requests, ...logged].join("\n");
}

/** A logger that writes each record, with all its fields, as text. */
function writingLogger(logged: string[], bound: LogFields = {}): Logger {
  const log = (fields: LogFields, message: string): void =>
    void logged.push(`${message} ${inspect({ ...bound, ...fields }, { depth: 20, maxStringLength: null, maxArrayLength: null })}`);
  return { debug: log, info: log, warn: log, error: log, child: (fields) => writingLogger(logged, { ...bound, ...fields }) };
}

test("no secret value and no token appears in a log record, event, status patch, request or error", async () => {
  const logged: string[] = [];
  await using rig = await new NodeRig({
    capabilities: { env: true, restarts: true, volumes: ["secret", "projected"] },
    logger: writingLogger(logged),
  }).start();
  rig.putSecret("env", inEnv);
  rig.putSecret("files", inVolume);
  const secrets: string[] = [];
  const read: string[] = [];
  let failures = 2;
  rig.provider.onCreate = async (_pod, resolved, signal) => {
    const [variable] = await resolved.environment("app", signal);
    const [file] = (await resolved.volume("files", signal)).files;
    const [token] = (await resolved.volume("token", signal)).files;
    const values = [variable?.value, file?.content, token?.content].map((value) => Buffer.from(value ?? "").toString());
    read.push(...values);
    secrets.push(values[2] ?? "");
    // As back ends do that answer with the request they did not like.
    const shown = JSON.stringify({ env: { KEY: values[0] }, files: values.slice(1) });
    const cause = Object.assign(new Error(`POST /containers ${shown}`), { request: { body: shown }, token: values[2] });
    if (failures-- > 0) throw new InvalidInputError(`create container: bad request ${shown}`, { cause });
  };
  rig.provider.onUpdate = async (_pod, resolved, signal) => {
    const [file] = (await resolved.volume("files", signal)).files;
    throw new UnavailableError(
      `update: ${Buffer.from(file?.content ?? "").toString()} and ${Buffer.from(file?.content ?? "").toString("base64")}`,
    );
  };

  const ref = await rig.createPod("web", spec);
  for (let passed = 0; passed < 10; passed++) await rig.settle(1_000);
  expect(rig.containerState("web")).toBe("running");
  rig.putSecret("files", rotated);
  await rig.editPod("web", (pod) => (pod.metadata = { ...pod.metadata, labels: { changed: "yes" } }));
  for (let passed = 0; passed < 10; passed++) await rig.settle(1_000);
  using _away = rig.client.intercept((call) => {
    if (call.subresource === "token") throw new UnavailableError("token server away");
  });
  await rig.settle(590_000);
  const refused: unknown = await rig.host
    ?.getServiceAccountToken(ref, { expirationSeconds: 700 }, new AbortController().signal)
    .catch((error: unknown) => error);
  await rig.deletePod("web", 30);
  await rig.settle(5_000);
  expect(rig.pod("web")).toBeUndefined();

  expect(read).toContain(inEnv);
  expect(read).toContain(inVolume);
  expect(secrets[0]).toMatch(/^token-/);
  const written = `${everything(rig, logged)}\n${inspect(refused, { depth: 10 })}`;
  expect(written).toContain("create container: bad request");
  expect(written).toContain("[redacted]");
  expect(written).toContain("ProviderUpdateFailed");
  for (const secret of [inEnv, inVolume, rotated, ...secrets]) {
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString("base64")]) {
      expect(written.includes(form), `${form} is shown in: ${around(written, form)}`).toBe(false);
    }
  }
  expect(String(refused)).toContain("token server away");
});

/** Where a text appears, for the message of a test that fails. */
function around(text: string, part: string): string {
  const at = text.indexOf(part);
  return at < 0 ? "" : text.slice(Math.max(0, at - 200), at + part.length + 100);
}
