import { expect, test } from "vitest";
import { containerWith, planOf, podWith, taskOf } from "../test-support/pods.ts";

const secretVolume = { name: "keys", secret: { secretName: "tls" } };

test.for([
  [
    "one-container",
    podWith({ containers: [containerWith({ command: ["nginx"], args: ["-g", "daemon off;"], env: [{ name: "A", value: "b" }] })] }),
    {},
    {},
  ],
  [
    "init-sidecar-and-files",
    podWith({
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 5,
      initContainers: [
        containerWith({ name: "first" }),
        containerWith({ name: "proxy", restartPolicy: "Always" }),
        containerWith({ name: "second", volumeMounts: [{ name: "work", mountPath: "/work" }] }),
      ],
      containers: [
        containerWith({
          env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }],
          args: ["--password=$(PASSWORD)", "--price=${PRICE}", "$(UNKNOWN)"],
          volumeMounts: [
            { name: "keys", mountPath: "/etc/keys" },
            { name: "settings", mountPath: "/etc/app.conf", subPath: "app.conf" },
            { name: "work", mountPath: "/work" },
          ],
          resources: { requests: { cpu: "250m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } },
          ports: [{ containerPort: 80, hostPort: 8080 }],
        }),
        containerWith({ name: "other" }),
      ],
      volumes: [secretVolume, { name: "settings", configMap: { name: "app" } }, { name: "work", emptyDir: {} }],
    }),
    { region: "eu", datacenters: ["dc1"], nodePool: "batch", disconnectGrace: "1m" },
    { env: { PASSWORD: "hunter2" }, files: { keys: { "tls.key": "s3cret" }, settings: { "app.conf": "colour=blue" } } },
  ],
  [
    "raw-exec",
    podWith(
      {
        restartPolicy: "OnFailure",
        containers: [
          containerWith({ command: ["sh", "-c"], args: ["echo ${HOME}"], volumeMounts: [{ name: "keys", mountPath: "/etc/keys/" }] }),
        ],
        volumes: [secretVolume],
      },
      { "nomad.hashicorp.com/driver": "raw_exec", "nomad.hashicorp.com/constraint": "${attr.kernel.name} = linux" },
    ),
    {},
    { files: { keys: { "a/b": "x" } } },
  ],
] as const)("the job of %s", async ([name, pod, config, given]) => {
  const { job, variables } = planOf(pod, config, given);

  await expect(`${JSON.stringify({ job, variables }, undefined, 2)}\n`).toMatchFileSnapshot(`golden/${name}.snap`);
});

test("nothing that comes from a secret or config map stands in the job", () => {
  const pod = podWith({
    containers: [
      containerWith({
        env: [
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
          { name: "URL", value: "https://u:$(PASSWORD)@db" },
        ],
        envFrom: [{ secretRef: { name: "more" } }],
        args: ["$(URL)", "$(MORE)"],
        volumeMounts: [{ name: "keys", mountPath: "/k" }],
      }),
    ],
    volumes: [secretVolume],
  });
  const given = { env: { PASSWORD: "canary-1", URL: "https://u:canary-1@db", MORE: "canary-2" }, files: { keys: { a: "canary-3" } } };

  const { job, variables } = planOf(pod, {}, given);

  expect(JSON.stringify(job)).not.toContain("canary");
  expect(
    JSON.stringify(variables)
      .match(/canary-\d/g)
      ?.toSorted(),
  ).toEqual(["canary-1", "canary-1", "canary-2", "canary-3"]);
  expect(taskOf({ job, variables } as never).Config["args"]).toEqual(['${env["URL"]}', '${env["MORE"]}']);
});

test("with secrets: inline there are no variables, and the contents are in the templates", () => {
  const pod = podWith({ containers: [containerWith({ volumeMounts: [{ name: "keys", mountPath: "/k" }] })], volumes: [secretVolume] });

  const plan = planOf(pod, { secrets: "inline" }, { files: { keys: { a: "text" } } });

  expect(plan.variables).toEqual([]);
  expect(taskOf(plan).Templates?.[0]?.EmbeddedTmpl).toBe(`{{ "${Buffer.from("text").toString("base64")}" | base64Decode }}`);
});

test("the id follows from cluster, node and UID, and from nothing else", () => {
  const { job } = planOf(podWith());
  const renamed = { ...podWith(), metadata: { ...podWith().metadata, name: "other", labels: { a: "b" } } };

  expect(planOf(renamed).job.ID).toBe(job.ID);
  expect(job.ID).toMatch(/^vk-[a-z2-7]{26}$/);
  expect(planOf({ ...podWith(), metadata: { ...podWith().metadata, uid: "u-2" } }).job.ID).not.toBe(job.ID);
});

test.each([
  ["Always", "service", { Attempts: 10, Mode: "delay" }],
  ["OnFailure", "batch", { Attempts: 10, Mode: "delay" }],
  ["Never", "batch", { Attempts: 0, Mode: "fail" }],
] as const)("restart policy %s is a %s job", (restartPolicy, type, policy) => {
  const { job } = planOf(podWith({ restartPolicy }));

  expect(job.Type).toBe(type);
  expect(job.TaskGroups[0]?.RestartPolicy).toMatchObject(policy);
  expect(job.TaskGroups[0]?.ReschedulePolicy).toEqual({ Attempts: 0, Unlimited: false });
});

test("a value that Nomad would put variables into comes through a template", () => {
  const plan = planOf(podWith({ containers: [containerWith({ env: [{ name: "A", value: "${NOMAD_TASK_DIR}" }] })] }));

  expect(taskOf(plan).Env).toEqual({});
  expect(taskOf(plan).Templates?.[0]).toMatchObject({ DestPath: "secrets/vk-literal.env", Envvars: true });
});

test("a variable whose name Nomad would put its own into is refused", () => {
  const env = [{ name: "${attr.unique.hostname}", value: "x" }];

  expect(() => planOf(podWith({ containers: [containerWith({ env })] }))).toThrow(
    /^spec\.containers\[0\]\.env: Nomad takes no variable named \$\{attr\.unique\.hostname\} from a template/,
  );
});

test("a container that names no resources has those of the configuration, and none less than Nomad takes", () => {
  expect(taskOf(planOf(podWith(), { defaultCpu: "500m", defaultMemory: "1Mi" })).Resources).toEqual({ CPU: 1000, MemoryMB: 10 });
});
