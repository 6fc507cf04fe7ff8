import type { Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { arns, configOf, identity, podOf, resolverOf, type Cluster } from "../test-support/pods.ts";
import { taskOf, type TaskRequest } from "./task-of.ts";

type Spec = NonNullable<Pod["spec"]>;

const value = "hunter2-hunter2";
const cluster: Cluster = {
  secrets: { db: { password: value, user: "admin" } },
  volumes: { files: { files: [{ path: "password", mode: 0o400, content: Buffer.from(value) }] } },
};
const withArns = {
  config: { executionRoleArn: arns.executionRole },
  annotations: { "fargate.virtual-kubelet.io/secrets": `db/password=${arns.password}` },
};
const fromSecret = { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } };

async function translate(
  spec: Spec,
  { config = {}, annotations = {} }: { config?: object; annotations?: Record<string, string> } = {},
): Promise<TaskRequest> {
  const pod = podOf(spec, annotations);
  return taskOf(pod, resolverOf(pod, cluster), { config: configOf(config), identity }, new AbortController().signal);
}

const main = (container: object): Spec => ({ containers: [{ name: "main", image: "i", ...container }] });
const secretVolume: Spec = {
  ...main({ volumeMounts: [{ name: "files", mountPath: "/etc/db" }] }),
  volumes: [{ name: "files", secret: { secretName: "db", items: [{ key: "password", path: "password", mode: 0o400 }] } }],
};

describe("a value of a Secret", () => {
  test.each<[string, Spec, string]>([
    ["a variable", main({ env: [fromSecret] }), "spec.containers[0].env[0].valueFrom.secretKeyRef"],
    ["all variables of a Secret", main({ envFrom: [{ secretRef: { name: "db" } }] }), "spec.containers[0].envFrom[0].secretRef"],
    [
      "a variable composed of it",
      main({ env: [fromSecret, { name: "URL", value: "db://$(PASSWORD)@db" }] }),
      "spec.containers[0].env[0].valueFrom.secretKeyRef",
    ],
    ["a volume", secretVolume, "spec.volumes[0].secret"],
    [
      "a projected volume",
      {
        ...main({ volumeMounts: [{ name: "files", mountPath: "/p" }] }),
        volumes: [{ name: "files", projected: { sources: [{ secret: { name: "db" } }] } }],
      },
      "spec.volumes[0].projected",
    ],
    [
      "a token",
      {
        ...main({ volumeMounts: [{ name: "files", mountPath: "/p" }] }),
        volumes: [{ name: "files", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
      },
      "spec.volumes[0].projected",
    ],
  ])("is not sent as plain text: %s is refused by its field", async (_what, spec, fieldPath) => {
    await expect(translate(spec)).rejects.toMatchObject({ code: "VK_UNSUPPORTED", fieldPath });
  });

  test("with an ARN is read by ECS, and never leaves the cluster", async () => {
    const request = await translate(main({ env: [fromSecret] }), withArns);

    expect(request.definition.containerDefinitions?.[0]?.secrets).toEqual([{ name: "PASSWORD", valueFrom: arns.password }]);
    expect(JSON.stringify(request)).not.toContain(value);
  });

  test("with an ARN is not composed into other values, arguments or commands", async () => {
    await expect(translate(main({ env: [fromSecret, { name: "URL", value: "$(PASSWORD)" }] }), withArns)).rejects.toMatchObject({
      fieldPath: "spec.containers[0].env[1].value",
    });
    await expect(translate(main({ env: [fromSecret], args: ["-p", "$(PASSWORD)"] }), withArns)).rejects.toMatchObject({
      fieldPath: "spec.containers[0].args",
    });
    await expect(translate(main({ env: [fromSecret], command: ["$(PASSWORD)"] }), withArns)).rejects.toMatchObject({
      fieldPath: "spec.containers[0].command",
    });
  });

  test("with an ARN becomes a file that ECS' value is written to", async () => {
    const request = await translate(secretVolume, withArns);
    const [files] = request.definition.containerDefinitions ?? [];

    expect(files).toMatchObject({ name: "vk-files", secrets: [{ name: "VK_F0", valueFrom: arns.password }] });
    expect(files?.environment).toContainEqual({ name: "VK_FILES", value: "0 r 400 - /vk/files/password" });
    expect(JSON.stringify(request)).not.toContain(value);
  });

  test("that needs an execution role which the pod does not have is refused", async () => {
    await expect(translate(main({ env: [fromSecret] }), { annotations: withArns.annotations })).rejects.toThrow("set executionRoleArn");
  });

  test("that may be sent is in the task's overrides, and not in the task definition that outlives the pod", async () => {
    const request = await translate(
      {
        ...secretVolume,
        containers: [
          {
            ...secretVolume.containers[0]!,
            env: [fromSecret, { name: "URL", value: "db://$(PASSWORD)" }, { name: "MODE", value: "fast" }],
            args: ["$(URL)"],
          },
        ],
      },
      { config: { plaintextSecrets: true } },
    );

    expect(JSON.stringify(request.definition)).not.toContain(value);
    expect(JSON.stringify(request.definition)).not.toContain(Buffer.from(value).toString("base64"));
    expect(request.run.overrides?.containerOverrides).toEqual([
      { name: "vk-files", environment: [{ name: "VK_F0", value: Buffer.from(value).toString("base64") }] },
      {
        name: "main",
        environment: [
          { name: "PASSWORD", value },
          { name: "URL", value: `db://${value}` },
        ],
        command: [`db://${value}`],
      },
    ]);
    expect(request.definition.containerDefinitions?.[1]?.environment).toEqual([{ name: "MODE", value: "fast" }]);
  });

  test("may not be part of the entry point, which belongs to the task definition", async () => {
    await expect(
      translate(main({ env: [fromSecret], command: ["$(PASSWORD)"] }), { config: { plaintextSecrets: true } }),
    ).rejects.toMatchObject({
      fieldPath: "spec.containers[0].command",
    });
  });
});

test.each([["db=arn:aws:ssm:eu-west-1:123456789012:parameter/x"], ["db/password=hunter2"], [`db/password=${arns.password},`]])(
  "the annotation secrets: %s is refused with the form that is expected",
  async (text) => {
    await expect(translate(main({}), { annotations: { "fargate.virtual-kubelet.io/secrets": text } })).rejects.toThrow(
      "expected entries SECRET/KEY=ARN",
    );
  },
);
