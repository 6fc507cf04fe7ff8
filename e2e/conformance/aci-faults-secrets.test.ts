import { podRef, type AttachIO, type Pod, type ResolvedPod } from "@virtual-kubelet/core";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import type { ArmAnswer } from "../aci/fake/arm-request.ts";
import { fakeAccount } from "../aci/fake/fake-azure.ts";
import { faultAnswers } from "../aci/fake/fault-rules.ts";
import { openAci, type OpenedAci } from "../aci/support/open-aci.ts";
import { podOf, resolverOf } from "../zun/support.ts";

// Secrets are in the secure fields of a request, and nowhere else: no log, event, metric, error, status, tag or other field has one.

const { signal } = new AbortController();
const secrets = {
  env: 'env-secret "quoted" Zq7',
  file: "file-secret-Kx3\nsecond line",
  token: "service-account-token-Pw9",
  registry: "registry-password-Mn4",
  shareKey: Buffer.from("storage-account-key-Vb2").toString("base64"),
  workspaceKey: "workspace-key-Jh8",
  clientSecret: fakeAccount.clientSecret,
  accessToken: "fake-token-",
} as const;

/** Texts that tell a secret, also in another spelling. */
const forbidden = Object.values(secrets).flatMap((secret) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString("base64"),
  encodeURIComponent(secret),
]);

const pod = (): Pod =>
  podOf({
    restartPolicy: "Never",
    imagePullSecrets: [{ name: "pull" }],
    containers: [
      {
        name: "web",
        image: "registry.example.com/app",
        command: ["app"],
        env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
        volumeMounts: ["files", "tokens", "share"].map((name) => ({ name, mountPath: `/${name}` })),
      },
    ],
    volumes: [
      { name: "files", secret: { secretName: "s" } },
      { name: "tokens", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3600 } }] } },
      { name: "share", azureFile: { shareName: "data", secretName: "storage" } },
    ],
  });

/** What the pod's references say. */
function resolvedOf(of: Pod): ResolvedPod {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const auths = { "registry.example.com": { username: "user", password: secrets.registry } };
  const known: Readonly<Record<string, object>> = {
    pull: { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": encode(JSON.stringify({ auths })) } },
    storage: { data: { azurestorageaccountname: encode("account"), azurestorageaccountkey: encode(secrets.shareKey) } },
  };
  const file = (path: string, content: string): { path: string; mode: number; content: Buffer } => ({
    path,
    mode: 0o644,
    content: Buffer.from(content),
  });
  return {
    ...resolverOf(of),
    environment: async () => [{ name: "PASSWORD", value: secrets.env }],
    volume: async (name) => ({ files: [name === "tokens" ? file("token", secrets.token) : file("secret.txt", secrets.file)] }),
    secret: async (name) => known[name] ?? {},
  };
}

/** Everything that the provider has said, and the fields of its requests that are not secure, as one text. */
function said({ azure, program, updates, groups }: OpenedAci, errors: readonly unknown[]): string {
  const secure = ["secureValue", "password", "secret", "storageAccountKey", "workspaceKey", "protectedSettings"];
  const open = (key: string, value: unknown): unknown => (secure.includes(key) ? "[secure]" : value);
  const requests = azure.calls.filter(({ kind }) => kind !== "token").map(({ path, query, body }) => ({ path, query, body }));
  return [
    ...program.log,
    JSON.stringify(program.events),
    JSON.stringify(program.metrics),
    JSON.stringify(updates),
    JSON.stringify(groups().map(({ tags, name }) => ({ tags, name }))),
    JSON.stringify(requests, open),
    ...errors.map((error) => `${String(error)} ${inspect(error, { depth: 20, showHidden: true })}`),
  ].join("\n");
}

/** An answer that quotes the request, as some do. */
const quoting =
  (aci: OpenedAci, code: string, status: number) =>
  (_real: ArmAnswer): ArmAnswer => ({
    status,
    body: { error: { code, message: `bad request: ${JSON.stringify(aci.azure.calls.at(-1)?.body)}` } },
  });

test("no secret leaves the secure fields of the requests, whatever goes wrong", { timeout: 300_000 }, async () => {
  const own = pod();
  await using aci = await openAci({
    pods: [own],
    script: () => ({ exit: { afterMs: 600_000, exitCode: 1 } }),
    config: { logAnalytics: { workspaceId: "w", workspaceKey: secrets.workspaceKey } },
  });
  const errors: unknown[] = [];
  const creates = { method: "PUT", path: /\/containerGroups\/[^/?]+\?/i, times: 1 };
  for (const answer of [
    quoting(aci, "InvalidRequestContent", 400),
    quoting(aci, "InternalServerError", 500),
    quoting(aci, "ContainerGroupQuotaReached", 409),
    quoting(aci, "AuthorizationFailed", 403),
  ]) {
    const refused = pod();
    using _fault = aci.azure.faults.add({ ...creates, when: "after", answer });
    errors.push(await aci.create(refused, resolvedOf(refused)));
    await aci.clock.advance(120_000);
  }
  for (const answer of [faultAnswers.garbage, faultAnswers.html, "drop", "never"] as const) {
    const lost = pod();
    using _fault = aci.azure.faults.add({ ...creates, answer });
    errors.push(await aci.create(lost, resolvedOf(lost)));
  }
  expect(errors.filter((error) => error !== undefined).length).toBeGreaterThanOrEqual(6);

  errors.push(await aci.create(own, resolvedOf(own)));
  await aci.untilPhase(own, "Running");
  const io: AttachIO = {
    stdin: undefined,
    stdout: undefined,
    stderr: undefined,
    tty: false,
    resizes: { async *[Symbol.asyncIterator]() {} },
  };
  // The pretended containers know no commands, so that the stream ends before its command has begun.
  const command = await Promise.allSettled([aci.provider.runInContainer?.(podRef(own), "web", ["true"], io, signal)]);
  errors.push(...command.map((result) => (result.status === "rejected" ? result.reason : undefined)));
  aci.azure.tokens.revokeAll();
  for (const answer of [faultAnswers.serverError, faultAnswers.garbage, "drop", "never"] as const) {
    using _fault = aci.azure.faults.add({ answer });
    const looked = await aci.settle(aci.provider.getPod(podRef(own), signal));
    const deleted = await aci.settle(aci.provider.deletePod(podRef(own), { gracePeriodSeconds: 30 }, signal));
    for (const result of [looked, deleted]) if (result.status === "rejected") errors.push(result.reason);
    await aci.clock.advance(300_000);
  }
  await aci.clock.runUntil(() => aci.phaseOf(own) === "gone", { withinMs: 1_200_000 });

  const text = said(aci, errors);
  expect(forbidden.filter((each) => text.includes(each))).toEqual([]);
  // The same search finds the secrets where they belong.
  const bodies = JSON.stringify(aci.azure.calls.map(({ body }) => body));
  const sent = [secrets.env, secrets.registry, secrets.shareKey, secrets.workspaceKey, Buffer.from(secrets.file).toString("base64")];
  expect(sent.filter((each) => !bodies.includes(JSON.stringify(each).slice(1, -1)))).toEqual([]);
});
