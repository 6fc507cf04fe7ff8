import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { configMapKind } from "../../kinds/config/config-map.ts";
import { startTestServer } from "../../test-support/test-server.ts";

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

interface Family extends AsyncDisposable {
  /** Creates a config map owned by others. */
  create(name: string, ...owners: Readonly<ApiObject>[]): Readonly<ApiObject>;
  remove(name: string, propagationPolicy?: string): Promise<void>;
  names(): string[];
  ownersOf(name: string): string[] | undefined;
}

async function startFamily(): Promise<Family> {
  const { server, request, [Symbol.asyncDispose]: dispose } = await startTestServer({ controllers: true });
  const { cluster } = server;
  return {
    create(name, ...owners) {
      const ownerReferences = owners.map(({ metadata }) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        name: metadata.name,
        uid: metadata.uid,
        blockOwnerDeletion: true,
      }));
      return cluster.create(configMapKind, { metadata: { name, namespace: "default", ownerReferences } });
    },
    async remove(name, propagationPolicy) {
      await request("DELETE", `/api/v1/namespaces/default/configmaps/${name}`, { propagationPolicy });
      await settle();
    },
    names: () =>
      cluster
        .list(configMapKind, "default")
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== "kube-root-ca.crt"),
    ownersOf: (name) => cluster.get(configMapKind, "default", name)?.metadata.ownerReferences?.map((owner) => owner.name),
    [Symbol.asyncDispose]: dispose,
  };
}

describe("garbage collector", () => {
  test("deletes the dependents of a deleted object, and their dependents", async () => {
    await using family = await startFamily();
    const parent = family.create("parent");
    const child = family.create("child", parent);
    family.create("grandchild", child);
    family.create("stranger");

    await family.remove("parent");

    expect(family.names()).toEqual(["stranger"]);
  });

  test("keeps a dependent while one of its owners exists", async () => {
    await using family = await startFamily();
    const [a, b] = [family.create("a"), family.create("b")];
    family.create("child", a, b);

    await family.remove("a");
    const owners = family.ownersOf("child");
    await family.remove("b");

    expect(owners).toEqual(["b"]);
    expect(family.names()).toEqual([]);
  });

  test("deletes an object that is created with a missing or replaced owner", async () => {
    await using family = await startFamily();
    const old = family.create("parent");
    await family.remove("parent");
    family.create("parent");

    family.create("child", old);
    await settle();

    expect(family.names()).toEqual(["parent"]);
  });

  test("keeps dependents if the deletion orphans them", async () => {
    await using family = await startFamily();
    family.create("child", family.create("parent"));

    await family.remove("parent", "Orphan");

    expect(family.names()).toEqual(["child"]);
    expect(family.ownersOf("child")).toBeUndefined();
  });

  test("deletes dependents first in a foreground deletion", async () => {
    await using family = await startFamily();
    family.create("child", family.create("parent"));

    await family.remove("parent", "Foreground");

    expect(family.names()).toEqual([]);
  });
});
