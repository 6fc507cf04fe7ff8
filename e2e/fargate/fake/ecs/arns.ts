/** Account and region of the fake. */
export const account = "123456789012";
export const region = "us-east-1";

/** Name of a cluster, from its name or ARN; `default` if none is given. */
export function clusterName(cluster: string | undefined): string {
  return cluster === undefined || cluster === "" ? "default" : (cluster.split("/").at(-1) ?? cluster);
}

/** ARN of an object of Amazon ECS. @param path - such as `cluster/default` */
export function ecsArn(path: string): string {
  return `arn:aws:ecs:${region}:${account}:${path}`;
}
