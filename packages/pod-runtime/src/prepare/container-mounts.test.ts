import { expect, test } from "vitest";
import { allMounts } from "./container-mounts.ts";

const files = { hosts: "/h", resolvConf: "/r", terminationLog: "/t" };

test("a kubelet's files follow the volumes, and only resolv.conf can be read-only", () => {
  const volume = { hostPath: "/v", containerPath: "/data", isReadOnly: true };
  const container = { name: "app", terminationMessagePath: "dev/log", securityContext: { readOnlyRootFilesystem: true } };

  expect(allMounts(container, [volume], files)).toEqual([
    volume,
    { hostPath: "/h", containerPath: "/etc/hosts", isReadOnly: false },
    { hostPath: "/r", containerPath: "/etc/resolv.conf", isReadOnly: true },
    { hostPath: "/t", containerPath: "/dev/log", isReadOnly: false },
  ]);
  expect(allMounts({ ...container, securityContext: {} }, [], files)[1]).toMatchObject({ isReadOnly: false });
});

test("a file that does not exist is not mounted", () => {
  expect(allMounts({ name: "app" }, [], {})).toEqual([]);
});

test("a volume with the path of a file replaces the file, in any notation of the path", () => {
  const volumes = ["etc/hosts", "/etc//resolv.conf/", "/dev/./log"].map((containerPath) => ({
    hostPath: "/v",
    containerPath,
    isReadOnly: false,
  }));

  expect(allMounts({ name: "app", terminationMessagePath: "/dev/log" }, volumes, files)).toEqual(volumes);
});
