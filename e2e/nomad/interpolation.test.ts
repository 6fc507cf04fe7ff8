import { afterAll, afterEach, expect, test } from "vitest";
import { JobRunner, planned } from "./job-runner.ts";
import { jobWith, taskWith } from "./test-jobs.ts";

// Nomad replaces variables in a job, including attributes of clients, which users of Kubernetes must not read. The tests run on the fake
// and, with E2E_NOMAD=real, on a real agent.
const jobs = await JobRunner.open();
const { image } = jobs.nomad;
afterEach(() => jobs.clear());
afterAll(() => jobs[Symbol.asyncDispose]());

/** Script that prints an entry of the job's meta from the environment of `$shell`, because a shell drops variables with such names. */
const metaOf = (name: string): string => `tr '\\000' '\\n' </proc/$shell/environ | sed -n 's/^NOMAD_META_vk.${name}=//p'`;

test("Nomad replaces its variables in the words, environment and meta of a task", async () => {
  const text = "${attr.kernel.name}";
  const words = ["-c", `shell=$$; printf "%s\\n" "$0" "$A"; ${metaOf("note")}`, text];
  const job = jobWith([taskWith("", { Config: { command: "sh", args: words }, Env: { A: text } })], { Meta: { "vk.note": text } });

  expect(await jobs.linesOf({ job })).toEqual(["linux", "linux", "linux"]);
});

test("Nomad replaces no variable in a pod's texts", async () => {
  const text = '${attr.kernel.name} $${attr.cpu.arch} %{ if true } {{ env "HOME" }} ${NOMAD_JOB_ID}';
  const script = `shell=$$$$; printf "%s\\n" "$0" "$1" "$A"; ${metaOf("shape")}; cat etc/settings/file`;
  const plan = planned(
    script,
    {
      image: `registry/${text}`,
      command: [text],
      args: [text],
      env: [{ name: "A", value: text }],
      volumeMounts: [{ name: "s", mountPath: "/etc/settings" }],
    },
    { files: { s: { file: `${text}\n` } }, volumes: [{ name: "s", configMap: { name: "settings" } }] },
  );
  const [first, second, environment, shape = "", ...file] = await jobs.linesOf(plan);

  // Words are expanded by Kubernetes' rules, which replace two dollar signs by one.
  const word = text.replace("$$", () => "$");
  expect([first, second, environment, ...file]).toEqual([word, word, text, text]);
  expect(JSON.parse(shape)).toMatchObject({ containers: [{ image: `registry/${text}` }] });
});

test("dollar signs before a secret's value stay unchanged", async () => {
  const env = [
    { name: "S", valueFrom: { secretKeyRef: { name: "s", key: "s" } } },
    { name: "D", value: "$" },
  ];
  const words = ["cost=$$$(S)", "$(D)$(S)$(S)", "$$$$$(S)$$", "%$(S)%$$"];
  const script = words.map((_, index) => `printf "%s\\n" "$${index}"`).join("; ");

  expect(await jobs.linesOf(planned(script, { command: words, env }, { env: { S: "hidden" } }))).toEqual([
    "cost=$hidden",
    "$hiddenhidden",
    "$$hidden$",
    "%hidden%$",
  ]);
});

test.for(jobs.dockerNetworks)(
  "Nomad replaces them in the DNS options of a task with network %s, so the provider refuses them there",
  async (network) => {
    const { job } = planned("cat /etc/resolv.conf", { image }, { config: { driver: "docker", network: "task" } });
    const [group] = job.TaskGroups;
    const DNS = { Servers: ["203.0.113.1"], Searches: ["${attr.kernel.name}.example.com"], Options: ["x:$${attr.kernel.name}"] };
    const networks = [{ Mode: "host", DNS }];

    expect(network).toBeDefined();
    expect(await jobs.linesOf({ job: { ...job, TaskGroups: group ? [{ ...group, Networks: networks }] : [] } })).toEqual(
      expect.arrayContaining(["search linux.example.com", "options x:$linux"]),
    );
  },
);

test.for(jobs.dockerNetworks)("no setting of a container with network %s reveals them in an error", async (network) => {
  const securityContext = { capabilities: { drop: ["${attr.kernel.name}"] } };
  const plan = planned("true", { image, securityContext }, { config: { driver: "docker", network } });
  const { TaskStates, ClientStatus } = await jobs.run(plan);

  expect(ClientStatus).toBe("failed");
  const told = JSON.stringify(TaskStates?.["main"]?.Events);
  expect(told).toMatch(/\$\{attr\.kernel\.name\}/i);
  expect(told).not.toMatch(/linux/i);
});
