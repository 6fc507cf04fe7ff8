import { buffer } from "node:stream/consumers";
import { pack, type Header } from "tar-stream";

/** One entry of an archive, and its content. */
export type ArchiveEntry = Partial<Header> & { readonly name: string; readonly content?: string };

/** A tar archive of these entries, as they are: also of such as no tar program makes. */
export async function archiveOf(entries: readonly ArchiveEntry[]): Promise<Buffer> {
  const archive = pack();
  // What it gives are bytes.
  const bytes = buffer(archive as AsyncIterable<Uint8Array> as NodeJS.ReadableStream & AsyncIterable<Uint8Array>);
  for (const { content, ...header } of entries) archive.entry(header, content ?? "");
  archive.finalize();
  return bytes;
}
