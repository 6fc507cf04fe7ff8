import { afterAll, afterEach, expect, test } from "vitest";
import { JobRunner, planned } from "./job-runner.ts";

// Files of a pod's volumes as its containers see them, on the fake and, with E2E_NOMAD=real, on a real agent.
const jobs = await JobRunner.open();
const { nomad } = jobs;
afterEach(() => jobs.clear());
afterAll(() => jobs[Symbol.asyncDispose]());

const canary = "canary-of-the-volume";
const volumes = [
  { name: "keys", secret: { secretName: "tls" } },
  { name: "settings", configMap: { name: "app" } },
  { name: "shared", emptyDir: {} },
];
const files = { keys: { key: `${canary}\n` }, settings: { conf: "colour=blue\n" } };
const mounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));

test("only the container's user can read a secret's file, and the job does not show the secret", async () => {
  const isDocker = jobs.dockerNetworks.length > 0;
  // Other drivers mount nothing, so files are below the task's folder.
  const path = isDocker ? "/keys/key" : "keys/key";
  const config = isDocker ? { driver: "docker", network: nomad.network } : {};
  const fields = { image: nomad.image, volumeMounts: mounts.slice(0, 1) };
  const plan = planned(`stat -L -c %a ${path}; cat ${path}`, fields, { config, files: { keys: files.keys }, volumes: volumes.slice(0, 1) });

  expect(await jobs.linesOf(plan)).toEqual(["400", canary]);
  expect(JSON.stringify((await nomad.request("GET", `/job/${plan.job.ID}`)).body)).not.toContain(canary);
});

test.for(jobs.dockerNetworks)(
  "no container with network %s can replace a volume by a link, or write to a read-only volume",
  async (network) => {
    const tries = [
      "mv /secrets/volumes /secrets/other",
      "mv /local/volumes /local/other",
      "rm -r /secrets/volumes/keys",
      "ln -s / /local/volumes/settings/link",
      "mv /alloc/data /alloc/other",
      "ln -s / /alloc/data/link",
      "echo x >/keys/key",
      "echo x >/settings/conf",
    ];
    const script = `${tries.map((each) => `${each} 2>/dev/null && echo "${each}"`).join("; ")}; echo mine >/shared/own && cat /shared/own /settings/conf`;
    const plan = planned(script, { image: nomad.image, volumeMounts: mounts }, { config: { driver: "docker", network }, files, volumes });

    expect(await jobs.linesOf(plan)).toEqual(["mine", "colour=blue"]);
  },
);

test.for(jobs.dockerNetworks)("the file API reveals no secret of a container with network %s", async (network) => {
  const plan = planned("true", { image: nomad.image, volumeMounts: mounts }, { config: { driver: "docker", network }, files, volumes });
  const { ID } = await jobs.run(plan);
  const read = async (path: string): Promise<unknown> => (await nomad.request("GET", `/client/fs/cat/${ID}?path=main/${path}`)).body;

  expect(await read("local/volumes/settings/conf")).toBe("colour=blue\n");
  expect(await read("secrets/volumes/keys/key")).toMatch(/prohibited/);
});
