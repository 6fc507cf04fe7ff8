import { expect, test } from "vitest";
import { file, groupOf, mainWith, podOf } from "../test-support/pods.ts";

const configMap = { volumes: [{ name: "settings", configMap: { name: "settings" } }] };

test("a mounted sub-folder of files is a volume of its own", async () => {
  const pod = podOf({
    ...configMap,
    ...mainWith({
      volumeMounts: [
        { name: "settings", mountPath: "/etc/a", subPath: "a" },
        { name: "settings", mountPath: "/etc/b", subPath: "b/" },
        { name: "settings", mountPath: "/etc/again", subPath: "a" },
      ],
    }),
  });
  const files = { settings: [file("a/one", "1"), file("b/two", "2")] };
  const { body } = await groupOf(pod, { known: { files } });

  expect(body.properties.volumes).toEqual([
    { name: "volume-0", secret: { one: "MQ==" } },
    { name: "volume-1", secret: { two: "Mg==" } },
  ]);
  expect(body.properties.containers[0]?.properties.volumeMounts).toEqual([
    { name: "volume-0", mountPath: "/etc/a" },
    { name: "volume-1", mountPath: "/etc/b" },
    { name: "volume-0", mountPath: "/etc/again" },
  ]);
});

test.for([
  ["a single file", { subPath: "app.conf" }, [file("app.conf", "1")], "spec.containers[0].volumeMounts[0].subPath"],
  ["a missing folder", { subPath: "b" }, [file("a/one", "1")], "spec.containers[0].volumeMounts[0].subPath"],
  ["a volume with sub-folders", {}, [file("a/one", "1")], "spec.volumes[0]"],
] as const)("a mount of %s is refused", async ([, mount, files, fieldPath]) => {
  const pod = podOf({ ...configMap, ...mainWith({ volumeMounts: [{ name: "settings", mountPath: "/etc/app", ...mount }] }) });

  await expect(groupOf(pod, { known: { files: { settings: files } } })).rejects.toMatchObject({ code: "VK_UNSUPPORTED", fieldPath });
});

test("a sub-path of an emptyDir is refused, because its content is not known here", async () => {
  const pod = podOf({
    volumes: [{ name: "scratch", emptyDir: {} }],
    ...mainWith({ volumeMounts: [{ name: "scratch", mountPath: "/s", subPath: "a" }] }),
  });

  await expect(groupOf(pod)).rejects.toMatchObject({ fieldPath: "spec.containers[0].volumeMounts[0].subPath" });
});

test("an optional secret that does not exist is an empty folder", async () => {
  const pod = podOf({
    volumes: [{ name: "maybe", secret: { secretName: "maybe", optional: true } }],
    ...mainWith({ volumeMounts: [{ name: "maybe", mountPath: "/m" }] }),
  });
  const { body } = await groupOf(pod);

  expect(body.properties.volumes).toEqual([{ name: "maybe", emptyDir: {} }]);
});

test("more files than Azure accepts are refused", async () => {
  const files = { settings: [file("big", "x".repeat(3 * 1024 * 1024))] };

  await expect(groupOf(podOf(configMap), { known: { files } })).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
});

test("modes of files have no effect, and an event says so", async () => {
  const files = { settings: [file("run", "#!", 0o755)] };
  const { notes } = await groupOf(podOf(configMap), { known: { files } });

  expect(notes).toEqual([expect.objectContaining({ reason: "FileModeIgnored", message: expect.stringContaining("755") })]);
});

test("a projected token is told with its expiry, and never shown", async () => {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = `${encode({ alg: "RS256" })}.${encode({ exp: 1_800_000_000, "kubernetes.io": {} })}.c2lnbmF0dXJl`;
  const pod = podOf({
    volumes: [{ name: "token", projected: { sources: [] } }],
    ...mainWith({ volumeMounts: [{ name: "token", mountPath: "/t" }] }),
  });
  const { body, notes } = await groupOf(pod, { known: { files: { token: [file("token", token)] } } });

  expect(body.properties.volumes).toEqual([{ name: "token", secret: { token: Buffer.from(token).toString("base64") } }]);
  expect(notes).toEqual([
    expect.objectContaining({ reason: "ServiceAccountTokenExpires", message: expect.stringContaining("2027-01-15T08:00:00.000Z") }),
  ]);
  expect(JSON.stringify(notes)).not.toContain(token);
});

test("the automatic token is mounted only if the configuration says so", async () => {
  const pod = podOf({
    volumes: [{ name: "kube-api-access-x", projected: { sources: [] } }],
    ...mainWith({ volumeMounts: [{ name: "kube-api-access-x", mountPath: "/t" }] }),
  });
  const known = { files: { "kube-api-access-x": [file("token", "t")] } };

  expect((await groupOf(pod, { known })).body.properties.volumes).toBeUndefined();
  expect((await groupOf(pod, { known, config: { serviceAccountToken: true } })).body.properties.volumes).toEqual([
    { name: "kube-api-access-x", secret: { token: "dA==" } },
  ]);
});

test.for([
  ["shareName", { csi: { driver: "file.csi.azure.com", volumeAttributes: { secretName: "s" } } }],
  ["secretName", { csi: { driver: "file.csi.azure.com", volumeAttributes: { shareName: "s" } } }],
  ["an existing secret", { azureFile: { shareName: "s", secretName: "missing" } }],
  ["azurestorageaccountkey", { azureFile: { shareName: "s", secretName: "incomplete" } }],
] as const)("a share without %s is refused", async ([missing, source]) => {
  const known = { secrets: { incomplete: { azurestorageaccountname: "a" } } };

  await expect(groupOf(podOf({ volumes: [{ name: "share", ...source }] }), { known })).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.stringContaining(missing === "an existing secret" ? 'secret "missing" not found' : missing),
  });
});

test("a group has at most 20 volumes", async () => {
  const volumes = Array.from({ length: 21 }, (_, index) => ({ name: `volume-${index}`, emptyDir: {} }));
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));

  await expect(groupOf(podOf({ volumes, ...mainWith({ volumeMounts }) }))).rejects.toMatchObject({ fieldPath: "spec.volumes[20]" });
});
