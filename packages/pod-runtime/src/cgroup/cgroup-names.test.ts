import fc from "fast-check";
import { expect, test } from "vitest";
import { CgroupNames } from "./cgroup-names.ts";

const uid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";

test("with cgroupfs names are paths, and guaranteed pods have no QoS class in their path", () => {
  const names = new CgroupNames("cgroupfs", "vkpods");

  expect(names.pod(uid, "Burstable")).toEqual({ path: `/vkpods/burstable/pod${uid}`, parent: `/vkpods/burstable/pod${uid}` });
  expect(names.pod(uid, "Guaranteed").path).toBe(`/vkpods/pod${uid}`);
  expect(names.tier("BestEffort").path).toBe("/vkpods/besteffort");
});

test("with systemd names are slices, each inside the slices with which its name begins", () => {
  const slice = `vkpods-burstable-pod${uid.replaceAll("-", "_")}.slice`;

  expect(new CgroupNames("systemd", "vkpods").pod(uid, "Burstable")).toEqual({
    path: `/vkpods.slice/vkpods-burstable.slice/${slice}`,
    parent: slice,
  });
  expect(new CgroupNames("systemd", "vkpods").pod(uid, "Guaranteed").parent).toBe(`vkpods-pod${uid.replaceAll("-", "_")}.slice`);
});

test.for([
  ["cgroupfs", "/a/b-c", "/a/b-c", "/a/b-c"],
  ["cgroupfs", "a.slice", "/a.slice", "/a.slice"],
  ["systemd", "/a/b-c", "/a.slice/a-b_c.slice", "a-b_c.slice"],
  ["systemd", "a-b.slice", "/a.slice/a-b.slice", "a-b.slice"],
] as const)("with %s the prefix %s is %s", ([driver, prefix, path, parent]) => {
  expect(new CgroupNames(driver, prefix).root).toEqual({ path, parent });
});

test.for(["", "/", "../x", "/a/../b", "/a b", "a/.hidden"])("the prefix %j is refused", (prefix) => {
  expect(() => new CgroupNames("cgroupfs", prefix)).toThrow("expected a path such as /vkpods, or a slice such as vkpods.slice");
});

test.for(["", "a/b", "..", "a_b", "-a"])("a pod with the UID %j has no cgroup", (bad) => {
  expect(() => new CgroupNames("cgroupfs", "vkpods").pod(bad, "Burstable")).toThrow('expected letters, digits and "-"');
});

test("a pod's UID is read from its folder, and from no other", () => {
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.constantFrom("cgroupfs" as const, "systemd" as const),
      fc.constantFrom("Guaranteed" as const, "Burstable" as const, "BestEffort" as const),
      (any, driver, quality) => {
        const names = new CgroupNames(driver, "vkpods");
        const folder = names.pod(any, quality).path.split("/").at(-1) ?? "";
        expect(names.tryUid(folder, quality)).toBe(any);
      },
    ),
  );
  for (const driver of ["cgroupfs", "systemd"] as const) {
    const names = new CgroupNames(driver, "vkpods");
    for (const folder of ["burstable", "vkpods-burstable.slice", "pod", "podx_y", "xpodx", "other-podx.slice", "docker-abc.scope"])
      expect(names.tryUid(folder, "Burstable"), folder).toBeUndefined();
  }
});

test.for([
  ["systemd", "a b.slice"],
  ["systemd", "-.slice"],
  ["systemd", ".slice"],
  ["cgroupfs", "-a"],
  ["cgroupfs", ".a"],
  ["cgroupfs", "a/b c"],
] as const)("with %s the prefix %j is neither a path nor a slice", ([driver, prefix]) => {
  expect(() => new CgroupNames(driver, prefix)).toThrow("expected a path such as /vkpods, or a slice such as vkpods.slice");
});

test.for(["a@b.slice", "/a@b"])("a slice cannot be below %j, because systemd has no templates of slices", (prefix) => {
  expect(() => new CgroupNames("systemd", prefix)).toThrow(
    `name slices below "${prefix}": expected no "@", because systemd has no templates of slices`,
  );
});

test("a path of cgroupfs may have an @", () => {
  expect(new CgroupNames("cgroupfs", "/a@b").root.path).toBe("/a@b");
});

test("a prefix is a slice only if it is a single name with the suffix .slice", () => {
  expect(new CgroupNames("systemd", "a-b.slice.x").root.parent).toBe("a_b.slice.x.slice");
  expect(new CgroupNames("systemd", "/a-b.slice").root.parent).toBe("a_b.slice.slice");
});

test("a UID may have at most 201 characters", () => {
  const names = new CgroupNames("cgroupfs", "vkpods");

  expect(names.pod("a".repeat(201), "Guaranteed").path).toBe(`/vkpods/pod${"a".repeat(201)}`);
  expect(() => names.pod("a".repeat(202), "Guaranteed")).toThrow("expected letters");
});

test("the cgroups of the QoS classes are below the root, and guaranteed pods use the root itself", () => {
  const names = new CgroupNames("systemd", "vkpods");

  expect(names.tier("Guaranteed")).toEqual(names.root);
  expect(names.tier("Burstable")).toEqual({ path: "/vkpods.slice/vkpods-burstable.slice", parent: "vkpods-burstable.slice" });
  expect(names.pod("u-1", "BestEffort").parent).toBe("vkpods-besteffort-podu_1.slice");
});
