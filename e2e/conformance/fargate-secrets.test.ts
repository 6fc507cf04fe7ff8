import type { Pod, ResolvedPod } from "@virtual-kubelet/core";
import { podRef } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import { openFollowed, outcomeOf, untilPhase, webPod } from "../fargate/support/drive-pods.ts";
import type { OpenedFargate } from "../fargate/support/open-fargate.ts";
import { clientOptions } from "../fargate/support/rig.ts";
import { resolverOf } from "../zun/support.ts";

// Values of Secrets and the program's own keys, through successes and failures: they are where README says, and nowhere else.

const { signal } = new AbortController();

/** Values that are written in several ways, such as in JSON within JSON. */
const values = {
  password: "hunter2-correct-horse",
  pem: '-----BEGIN KEY-----\nMIIB"quoted"\\slashed\n-----END KEY-----\n',
  short: "p4$",
};
type Key = keyof typeof values;
const keys = Object.keys(values) as Key[];

/** A text as it may be found: as it is, in JSON, in JSON within JSON, and in Base64. */
function formsOf(value: string): readonly string[] {
  const once = JSON.stringify(value).slice(1, -1);
  return [value, once, JSON.stringify(once).slice(1, -1), Buffer.from(value).toString("base64").replace(/=+$/, "")];
}

const leaks = (text: string, secrets: readonly string[] = Object.values(values)): readonly string[] =>
  secrets.filter((secret) => formsOf(secret).some((form) => text.includes(form)));

/** A pod with a Secret in variables, in an argument and in a file. */
function secretPod(changes: { readonly volume: boolean; readonly args: boolean }, annotations: Readonly<Record<string, string>> = {}): Pod {
  const pod = webPod({
    containers: [
      {
        name: "web",
        image: "nginx",
        env: [
          ...keys.map((key) => ({ name: key.toUpperCase(), valueFrom: { secretKeyRef: { name: "db", key } } })),
          { name: "PLAIN", value: "told" },
        ],
        ...(changes.args && { args: ["--password=$(PASSWORD)"] }),
        ...(changes.volume && { volumeMounts: [{ name: "keys", mountPath: "/keys" }] }),
      },
    ],
    ...(changes.volume && { volumes: [{ name: "keys", secret: { secretName: "db" } }] }),
  });
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

function resolve(pod: Pod): ResolvedPod {
  const { args = [] } = pod.spec?.containers[0] ?? {};
  return {
    ...resolverOf(pod, values),
    environment: async () => [...keys.map((key) => ({ name: key.toUpperCase(), value: values[key] })), { name: "PLAIN", value: "told" }],
    commandLine: async () => ({ command: [], args: args.map((arg) => arg.replace("$(PASSWORD)", values.password)) }),
    secret: async () => ({ data: Object.fromEntries(keys.map((key) => [key, Buffer.from(values[key]).toString("base64")])) }),
  };
}

/** Everything that people can read: log, events, metrics, reported statuses, and errors. */
const told = ({ log, events, metrics, updates }: OpenedFargate, errors: readonly unknown[]): string =>
  [
    ...log,
    ...metrics,
    JSON.stringify(events),
    JSON.stringify(updates),
    ...errors.flatMap((error) => [String(error), messageOf(error), deepText(error)]),
  ].join("\n");

/** An error with its stack and its causes. */
function deepText(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  return [error.stack, JSON.stringify(error), ...(error.cause === undefined ? [] : [deepText(error.cause)])].join("\n");
}

/** Inputs of an operation's requests, as JSON. */
const inputs = ({ aws }: OpenedFargate, operation: RegExp): string =>
  JSON.stringify(aws.api.seen.filter((call) => operation.test(call.operation)).map(({ input }) => input));

/** Creates the pod while AWS fails in ways that repeat the request, and then deletes it. @returns all errors */
async function liveThroughFailures(fargate: OpenedFargate, pod: Pod): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  const create = async (): Promise<boolean> => {
    const { error } = await outcomeOf(fargate, fargate.provider.createPod(pod, resolve(pod), signal));
    if (error !== undefined) errors.push(error);
    return error === undefined;
  };
  const echoes = (type: "ClientException" | "InvalidParameterException" | "ServerException", echo: (input: unknown) => string): void => {
    let request: unknown;
    fargate.aws.faults.add({
      operation: "RunTask",
      when: (input) => {
        request = input;
        return true;
      },
      effect: {
        kind: "error",
        get error() {
          return new AwsError(type, `Invalid request provided: ${echo(request)}`);
        },
      },
    });
  };
  const overrides = (input: unknown): unknown => (input as { readonly overrides: unknown }).overrides;
  echoes("ClientException", (input) => JSON.stringify(overrides(input)));
  echoes("InvalidParameterException", (input) => JSON.stringify(JSON.stringify(overrides(input))));
  echoes("ServerException", (input) => JSON.stringify(overrides(input), undefined, 2));
  fargate.aws.faults.add({ operation: "RunTask", effect: { kind: "garbage", body: JSON.stringify(values).slice(1) } });
  for (let attempts = 0; attempts < 8 && !(await create()); attempts++);
  await untilPhase(fargate, pod, "Running");
  const { error } = await outcomeOf(fargate, fargate.provider.deletePod(podRef(pod), { gracePeriodSeconds: 1 }, signal));
  if (error !== undefined) errors.push(error);
  await fargate.clock.advance(120_000);
  return errors;
}

test("with plaintextSecrets, values of Secrets are in the task's overrides only, whatever AWS answers", async () => {
  const pod = secretPod({ volume: true, args: true });
  await using fargate = await openFollowed(({ name }) => (name === "vk-files" ? { exit: { afterMs: 100, exitCode: 0 } } : {}), [pod]);
  const errors = await liveThroughFailures(fargate, pod);

  expect(errors.length).toBeGreaterThanOrEqual(2);
  expect(leaks(told(fargate, errors), [values.password, values.pem])).toEqual([]);
  expect(leaks(inputs(fargate, /^RunTask$/))).toEqual(Object.values(values));
  expect(leaks(inputs(fargate, /^(?!RunTask$)/))).toEqual([]);
  expect(leaks(JSON.stringify([...fargate.aws.definitions.all.values()]))).toEqual([]);
  expect(
    leaks(
      JSON.stringify(fargate.aws.api.seen.map(({ input }) => [input["tags"], input["group"], input["startedBy"], input["clientToken"]])),
    ),
  ).toEqual([]);
});

test("with copies named by ARN, no value of a Secret is in any request", async () => {
  const arnOf = (key: string): string => `arn:aws:secretsmanager:us-east-1:123456789012:secret:db-${key}`;
  const pod = secretPod(
    { volume: false, args: false },
    { "fargate.virtual-kubelet.io/secrets": keys.map((key) => `db/${key}=${arnOf(key)}`).join(",") },
  );
  await using fargate = await openFollowed(undefined, [pod], { plaintextSecrets: false });
  for (const key of keys) fargate.aws.secrets.set(arnOf(key), values[key]);
  expect((await outcomeOf(fargate, fargate.provider.createPod(pod, resolve(pod), signal))).error).toBeUndefined();
  await untilPhase(fargate, pod, "Running");

  expect(inputs(fargate, /^RegisterTaskDefinition$/)).toContain(arnOf("password"));
  expect(leaks(inputs(fargate, /./))).toEqual([]);
  expect(leaks(told(fargate, []))).toEqual([]);
});

test("without either, the pod is refused by field before any request, and the message has no value", async () => {
  const pod = secretPod({ volume: false, args: false });
  await using fargate = await openFollowed(undefined, [pod], { plaintextSecrets: false });
  const { error } = await outcomeOf(fargate, fargate.provider.createPod(pod, resolve(pod), signal));

  expect(String(error)).toMatch(/spec\.containers\[0\]\.env\[0\]\.valueFrom\.secretKeyRef: ECS would store the value as plain text/);
  expect(leaks(told(fargate, [error]))).toEqual([]);
  expect(fargate.aws.rates.counts.get("RunTask")).toBeUndefined();
});

test("the program's own keys, and the token of a command's session, are in no log, event, metric or error", async () => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  const { accessKeyId } = clientOptions("").credentials;
  const own = {
    accessKeyId,
    secretAccessKey: clientOptions("").credentials.secretAccessKey,
    sessionToken: "the-session-token-of-the-program",
  };
  fargate.credentials = own;
  fargate.aws.credentials.accept(own);
  const errors: unknown[] = [(await outcomeOf(fargate, fargate.provider.createPod(pod, resolve(pod), signal))).error];
  await untilPhase(fargate, pod, "Running");
  fargate.aws.credentials.expire(accessKeyId);
  errors.push((await outcomeOf(fargate, Promise.resolve(fargate.provider.ping(signal)))).error);
  const token = "the-token-of-a-session";
  fargate.aws.credentials.accept({ ...own, accessKeyId: "AKIAFAKE000000000003" });
  fargate.credentials = { ...own, accessKeyId: "AKIAFAKE000000000003" };
  const session = { sessionId: "s", streamUrl: `ws://127.0.0.1:9/v1/data-channel/s?token=${token}`, tokenValue: token };
  fargate.aws.faults.add({ operation: "ExecuteCommand", effect: { kind: "answer", body: { session } } });
  const io = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };
  await fargate.clock.advance(60_000);
  errors.push((await outcomeOf(fargate, Promise.resolve(fargate.provider.runInContainer?.(podRef(pod), "web", ["ls"], io, signal)))).error);

  expect(errors.map(String)).toEqual([
    "undefined",
    expect.stringContaining("ExpiredTokenException"),
    expect.stringContaining("reach the session's streams at 127.0.0.1:9"),
  ]);
  expect(leaks(told(fargate, errors), [own.secretAccessKey, own.sessionToken, token])).toEqual([]);
});
