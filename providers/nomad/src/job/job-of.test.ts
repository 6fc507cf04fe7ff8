import { expect, test } from "vitest";
import { configWith, containerWith, contentOf, namespaceOf, owner, planOf, podWith, taskOf } from "../test-support/pods.ts";
import { readJobMeta } from "./job-meta.ts";
import { jobOf } from "./job-of.ts";
import { jobSettingsOf } from "./settings.ts";

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

test("the folders of volumes are mounted read-only over themselves, so that no container can put a link in a volume's place", () => {
  const mounts = ["keys", "settings", "shared"].map((name) => ({ name, mountPath: `/${name}` }));
  const pod = podWith({
    containers: [containerWith({ volumeMounts: mounts }), containerWith({ name: "other" })],
    volumes: [secretVolume, { name: "settings", configMap: { name: "app" } }, { name: "shared", emptyDir: {} }],
  });
  const plan = planOf(pod, {}, { files: { keys: { key: "k" }, settings: { conf: "c" } } });

  expect(taskOf(plan).Config["volumes"]).toEqual([
    "secrets/volumes/keys:/keys:ro",
    "local/volumes/settings:/settings:ro",
    "../alloc/data:/shared",
    "secrets/volumes:/secrets/volumes:ro",
    "local/volumes:/local/volumes:ro",
    "../alloc/data:/alloc/data:ro",
  ]);
  expect(taskOf(plan, "other").Config["volumes"]).toEqual(["../alloc/data:/alloc/data:ro"]);
});

test("a folder in memory that a container mounts twice is one folder", () => {
  const volumeMounts = ["/a", "/b"].map((mountPath) => ({ name: "m", mountPath }));
  const pod = podWith({ containers: [containerWith({ volumeMounts })], volumes: [{ name: "m", emptyDir: { medium: "Memory" } }] });

  expect(taskOf(planOf(pod)).Config).toMatchObject({ volumes: ["../alloc/data:/a", "../alloc/data:/b", "../alloc/data:/alloc/data:ro"] });
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

const mode = { mode: 0o644 };
const projected = {
  name: "token",
  projected: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: { name: "ca", items: [] } }] },
};

test("files of secrets and tokens are readable by their container's user alone, and lie in the task's secrets folder", () => {
  const mounts = [
    { name: "keys", mountPath: "/etc/keys" },
    { name: "token", mountPath: "/var/run/token" },
    { name: "settings", mountPath: "/etc/app" },
  ];
  const pod = podWith({
    containers: [
      containerWith({ volumeMounts: mounts, env: [{ name: "P", valueFrom: { secretKeyRef: { name: "db", key: "p" } } }] }),
      containerWith({ name: "other", volumeMounts: mounts, securityContext: { runAsUser: 1000 } }),
    ],
    volumes: [secretVolume, projected, { name: "settings", configMap: { name: "app" } }],
  });
  const plan = planOf(pod, {}, { env: { P: "x" }, files: { keys: { key: "k" }, token: { token: "t" }, settings: { conf: "c" } } });
  const filesOf = (name: string): unknown =>
    Object.fromEntries((taskOf(plan, name).Templates ?? []).map(({ DestPath, Perms, Uid }) => [DestPath, [Perms, Uid]]));

  expect(filesOf("main")).toEqual({
    "secrets/vk-confidential.env": ["0400", undefined],
    "secrets/volumes/keys/key": ["0400", undefined],
    "secrets/volumes/token/token": ["0400", undefined],
    "local/volumes/settings/conf": ["0644", undefined],
  });
  expect(filesOf("other")).toEqual({
    "secrets/volumes/keys/key": ["0400", 1000],
    "secrets/volumes/token/token": ["0400", 1000],
    "local/volumes/settings/conf": ["0644", undefined],
  });
});

test.each([
  ["a program in a secret stays executable", { mode: 0o755 }, {}, "docker", { Perms: "0500" }],
  ["a pod's fsGroup may read its secrets", mode, { fsGroup: 2000 }, "docker", { Perms: "0440", Gid: 2000 }],
  ["a token that kubelets give to a user is that user's", { mode: 0o600, uid: 1000 }, {}, "docker", { Perms: "0400", Uid: 1000 }],
  ["driver exec runs as nobody", mode, {}, "exec", { Perms: "0400", Uid: 65_534 }],
  ["driver raw_exec runs as the agent", mode, {}, "raw_exec", { Perms: "0400" }],
] as const)("%s", (_, file, securityContext, driver, wanted) => {
  const pod = podWith({
    securityContext,
    containers: [containerWith({ command: ["sh"], volumeMounts: [{ name: "keys", mountPath: "/k" }] })],
    volumes: [secretVolume],
  });
  const content = { ...contentOf(pod), files: new Map([["keys", [{ path: "key", content: Buffer.from("k"), ...file }]]]) };
  const plan = jobOf(pod, content, owner, jobSettingsOf(pod, configWith({ driver }), { mhzPerCore: 2000, memoryOversubscription: true }));

  const { EmbeddedTmpl: _text, DestPath: _path, ChangeMode: _change, ...permissions } = taskOf(plan).Templates?.[0] ?? {};
  expect(permissions).toEqual(wanted);
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

const own = "${attr.unique.hostname}%{ if true }";

test("nothing that a pod may say has Nomad's own variables put into it", () => {
  const pod = podWith({
    hostAliases: [{ ip: "10.0.0.1", hostnames: [own] }],
    imagePullSecrets: [{ name: "registry" }],
    containers: [
      containerWith({
        image: `${own}/app`,
        command: [own],
        args: [`$$${own}`],
        workingDir: own,
        env: [{ name: "A", value: own }],
        securityContext: { capabilities: { drop: [own] } },
        volumeMounts: [
          { name: "host", mountPath: "/host" },
          { name: "memory", mountPath: "/%{ if true }" },
        ],
      }),
    ],
    volumes: [
      { name: "host", hostPath: { path: own } },
      { name: "memory", emptyDir: { medium: "Memory" } },
    ],
  });
  const plan = planOf(pod, { imagePullSecrets: "use" }, { logins: new Map([["main", { username: "u", password: "p" }]]) });
  const escaped = "$${attr.unique.hostname}%%{ if true }";

  expect(taskOf(plan).Config).toMatchObject({
    image: `${escaped}/app`,
    entrypoint: [escaped],
    args: [`$${escaped}`],
    work_dir: escaped,
    extra_hosts: [`${escaped}:10.0.0.1`],
    cap_drop: [escaped],
    volumes: [`${escaped}:/host`],
    mount: [{ type: "tmpfs", target: "/%%{ if true }" }],
    auth: [{ server_address: escaped }],
  });
  expect(taskOf(plan).Env).toEqual({});
  expect(JSON.stringify(plan.job.Meta)).not.toContain("${");
  expect(readJobMeta({ ID: plan.job.ID, Namespace: "default", Meta: plan.job.Meta }, owner, namespaceOf)).toMatchObject({
    kind: "pod",
    shape: { containers: [{ image: `${own}/app` }] },
  });
});

test("a variable whose name Nomad would put its own into is refused", () => {
  const env = [{ name: "${attr.unique.hostname}", value: "x" }];

  expect(() => planOf(podWith({ containers: [containerWith({ env })] }))).toThrow(
    /^spec\.containers\[0\]\.env: Nomad takes no variable named \$\{attr\.unique\.hostname\} from a template/,
  );
});

test("a pod that asks for a machine of one kind goes to no client of another", () => {
  const nodeSelector = { "kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux", "example.com/zone": "a" };

  expect(planOf(podWith({ nodeSelector })).job.Constraints).toEqual([
    { LTarget: "${attr.cpu.arch}", RTarget: "arm64", Operand: "=" },
    { LTarget: "${attr.kernel.name}", RTarget: "linux", Operand: "=" },
  ]);
  expect(planOf(podWith()).job.Constraints).toBeUndefined();
});

test("a container that names no resources has those of the configuration, and none less than Nomad takes", () => {
  expect(taskOf(planOf(podWith(), { defaultCpu: "500m", defaultMemory: "1Mi" })).Resources).toEqual({ CPU: 1000, MemoryMB: 10 });
});
