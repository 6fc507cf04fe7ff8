import { AwsError, invalidParameter } from "../api/aws-error.ts";
import { clusterName, ecsArn } from "./arns.ts";

/** A cluster and the capacity providers that its tasks can name. */
export interface FakeCluster {
  readonly name: string;
  readonly arn: string;
  readonly capacityProviders: readonly string[];
}

/** The account's clusters, and the operations on them. */
export class Clusters {
  readonly #clusters = new Map<string, FakeCluster>();

  create({
    clusterName: name = "default",
    capacityProviders = [],
  }: {
    readonly clusterName?: string;
    readonly capacityProviders?: readonly string[];
  }): object {
    if (!/^[A-Za-z0-9_-]{1,255}$/.test(name)) throw invalidParameter("The cluster name contains invalid characters.");
    // A repeated create returns the cluster that exists.
    const cluster = this.#clusters.get(name) ?? { name, arn: ecsArn(`cluster/${name}`), capacityProviders };
    this.#clusters.set(name, cluster);
    return { cluster: toWire(cluster, { running: 0, pending: 0 }) };
  }

  /** @param count - counts the tasks of a cluster */
  describe(
    { clusters = ["default"] }: { readonly clusters?: readonly string[] },
    count: (cluster: FakeCluster) => { readonly running: number; readonly pending: number },
  ): object {
    if (clusters.length > 100) throw invalidParameter("Clusters cannot have more than 100 elements.");
    const names = clusters.map(clusterName);
    return {
      clusters: names.flatMap((name) => {
        const cluster = this.#clusters.get(name);
        return cluster ? [toWire(cluster, count(cluster))] : [];
      }),
      failures: names.filter((name) => !this.#clusters.has(name)).map((name) => ({ arn: ecsArn(`cluster/${name}`), reason: "MISSING" })),
    };
  }

  /** @throws AwsError `ClusterNotFoundException` */
  get(cluster: string | undefined): FakeCluster {
    const found = this.#clusters.get(clusterName(cluster));
    if (found === undefined) throw new AwsError("ClusterNotFoundException", "Cluster not found.");
    return found;
  }
}

function toWire({ name, arn, capacityProviders }: FakeCluster, { running, pending }: { running: number; pending: number }): object {
  return {
    clusterArn: arn,
    clusterName: name,
    status: "ACTIVE",
    registeredContainerInstancesCount: 0,
    runningTasksCount: running,
    pendingTasksCount: pending,
    activeServicesCount: 0,
    statistics: [],
    tags: [],
    settings: [{ name: "containerInsights", value: "disabled" }],
    capacityProviders,
    defaultCapacityProviderStrategy: [],
  };
}
