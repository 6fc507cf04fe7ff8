import type { Api } from "./api.ts";

/**
 * Waits until the server's watch cache has seen all writes so far, so that reads that accept any age, such as a list at version 0, show
 * them.
 *
 * @param collection - path of the collection
 */
export async function waitForCache(api: Api, collection: string): Promise<void> {
  const { body } = await api.get(`${collection}?limit=1`);
  await api.get(`${collection}?resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`);
}
