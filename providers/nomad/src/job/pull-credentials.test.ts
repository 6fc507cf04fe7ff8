import type { RegistryEntry } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { containerWith, planOf, podWith, taskOf } from "../test-support/pods.ts";
import { pullCredentialsOf } from "./pull-credentials.ts";

const login = (username: string): RegistryEntry["credentials"] => ({ username, password: `${username}-password` });
const entries: readonly RegistryEntry[] = [
  { key: "quay.io", credentials: login("host") },
  { key: "quay.io/coreos", credentials: { registryToken: "t" } },
  { key: "quay.io/coreos", credentials: login("path") },
  { key: "docker.io", credentials: login("hub") },
  { key: "ghcr.io", credentials: { identityToken: "t" } },
];

test("each container has the first credentials that a kubelet would try and Nomad takes", () => {
  const pod = podWith({
    initContainers: [containerWith({ name: "init", image: "busybox" })],
    containers: [
      containerWith({ name: "a", image: "quay.io/coreos/etcd:v3" }),
      containerWith({ name: "b", image: "quay.io/other/app" }),
      containerWith({ name: "c", image: "registry.example.com/app" }),
    ],
  });

  expect([...pullCredentialsOf(pod, entries)].map(([name, { username }]) => [name, username])).toEqual([
    ["init", "hub"],
    ["a", "path"],
    ["b", "host"],
  ]);
});

test("an image for which there are tokens only is refused, without a word of them", () => {
  const pod = podWith({ containers: [containerWith({ image: "ghcr.io/app" })] });

  expect(() => pullCredentialsOf(pod, entries)).toThrow(/^spec\.imagePullSecrets: for image ghcr\.io\/app they contain only tokens/);
});

test("a task logs in with what stands in a variable, and the job shows neither name nor password", () => {
  const pod = podWith({ imagePullSecrets: [{ name: "s" }], containers: [containerWith({ image: "quay.io/app" })] });
  const logins = new Map([["main", { username: "ann", password: 'canary "$' }]]);
  const plan = planOf(pod, { imagePullSecrets: "use" }, { logins });

  expect(taskOf(plan).Config["auth"]).toEqual([
    { username: '${env["VK_REGISTRY_USERNAME"]}', password: '${env["VK_REGISTRY_PASSWORD"]}', server_address: "quay.io" },
  ]);
  expect(taskOf(plan).Templates).toEqual([
    expect.objectContaining({ DestPath: "secrets/vk-registry.env", Envvars: true, Perms: "0400", ChangeMode: "noop" }),
  ]);
  expect(JSON.stringify(plan.job)).not.toMatch(/ann|canary/);
  expect(plan.variables.flatMap(({ Items }) => Object.values(Items)).toSorted()).toEqual(["ann", 'canary "$']);
  expect(plan.shape.variables).toEqual([`nomad/jobs/${plan.job.ID}`]);
});

test("with secrets: inline the event SecretsInJob tells that the job shows them", () => {
  const pod = podWith({ imagePullSecrets: [{ name: "s" }] });

  expect(
    planOf(pod, { imagePullSecrets: "use", secrets: "inline" }, { logins: new Map([["main", { username: "a", password: "b" }]]) }),
  ).toMatchObject({
    isReadable: true,
    variables: [],
  });
});
