import fc from "fast-check";
import { constants, createDeflate, deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { headerDictionary } from "./dictionary.ts";
import { decodeHeaders, encodeHeaders, HeaderDeflater, HeaderInflater, type SpdyHeaders } from "./header-block.ts";

function inflate(inflater: HeaderInflater, block: Buffer): Promise<SpdyHeaders | undefined> {
  return new Promise((resolve, reject) =>
    inflater.inflate(block, (error, headers) => (error === undefined ? resolve(headers) : reject(error))),
  );
}

const kept = ["streamtype", "port", "requestid"];
const name = fc.oneof(fc.constantFrom(...kept), fc.stringMatching(/^[a-z0-9-]{1,20}$/));
const header = fc.tuple(name, fc.stringMatching(/^[ -~]{0,50}$/));
const anyHeaders = fc.array(header, { maxLength: 5 }).map((entries) => {
  const forbidden = ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding"];
  return new Map(entries.filter(([name]) => !forbidden.includes(name)));
});

test("the first block of a Go client names the error stream", async () => {
  using inflater = new HeaderInflater();
  const block = Buffer.from("78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff", "hex");

  expect(await inflate(inflater, block)).toEqual(new Map([["streamtype", "error"]]));
});

test("an empty block is sent as Go's reader needs it: as a stored block, followed by an empty stored block", () => {
  const deflater = new HeaderDeflater();

  expect(deflater.deflate(new Map()).toString("hex")).toBe("78bbe3c6a7c2" + "000400fbff00000000" + "000000ffff");
  expect(deflater.deflate(new Map()).toString("hex")).toBe("000400fbff00000000" + "000000ffff");
});

test("blocks of one connection are decoded in order, and of each block only the three headers that Kubernetes uses are kept", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyHeaders, { maxLength: 6 }), async (blocks) => {
      using inflater = new HeaderInflater();
      const deflater = new HeaderDeflater();
      for (const headers of blocks) {
        const expected = new Map([...headers].filter(([each]) => kept.includes(each)));
        expect(await inflate(inflater, deflater.deflate(headers))).toEqual(expected);
      }
    }),
    { numRuns: 30 },
  );
});

test("blocks of a real compressor, in which later blocks refer to earlier ones, are decoded", async () => {
  using inflater = new HeaderInflater();
  const deflate = createDeflate({ dictionary: headerDictionary });
  const compress = (headers: SpdyHeaders): Promise<Buffer> =>
    new Promise((resolve) => {
      deflate.write(encodeHeaders(headers));
      deflate.flush(constants.Z_SYNC_FLUSH, () => resolve(deflate.read() as Buffer));
    });
  for (let request = 0; request < 20; request++) {
    const headers = new Map([
      ["streamtype", "data"],
      ["port", "8080"],
      ["requestid", String(request)],
    ]);

    expect(await inflate(inflater, await compress(headers))).toEqual(headers);
  }
});

test("if a header has several values, the first one counts", () => {
  expect(decodeHeaders(encodeHeaders(new Map([["streamtype", "error\0data"]])))).toEqual(new Map([["streamtype", "error"]]));
});

test.each([
  ["a name in upper case", encodeHeaders(new Map([["StreamType", "error"]]))],
  ["a header of the connection", encodeHeaders(new Map([["connection", "close"]]))],
  ["more than a thousand headers", Buffer.from("000003e9", "hex")],
  ["a length beyond the end", Buffer.from("00000001ffffffff", "hex")],
  ["bytes after its headers", Buffer.from("0000000000", "hex")],
  ["a repeated name", Buffer.from("00000002" + "0000000161" + "00000000" + "0000000161" + "00000000", "hex")],
  ["a value of more than 256 bytes that would be kept", encodeHeaders(new Map([["requestid", "1".repeat(257)]]))],
  ["nothing", Buffer.alloc(0)],
])("a block with %s is refused", (_what, plain) => {
  expect(() => decodeHeaders(plain)).toThrow(/^read a SPDY header block: /);
});

test("a dropped value may be as long as the block; a kept one may have 256 bytes, counting only the first of several values", () => {
  const long = "x".repeat(15_000);
  const requestid = "1".repeat(256);

  expect(
    decodeHeaders(
      encodeHeaders(
        new Map([
          ["x-trace", long],
          ["requestid", `${requestid}\0${long.slice(0, 500)}`],
        ]),
      ),
    ),
  ).toEqual(new Map([["requestid", requestid]]));
});

test.each([17 * 1024, 8 * 1024 * 1024])("a block that would expand to %i bytes is refused", async (bytes) => {
  using inflater = new HeaderInflater();
  const value = Buffer.alloc(bytes, "a").toString();
  const bomb = deflateSync(encodeHeaders(new Map([["streamtype", value]])), { dictionary: headerDictionary });

  await expect(inflate(inflater, bomb)).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    cause: { message: expect.stringContaining("larger than 16384 bytes") },
  });
});

test("garbage is refused without any other effect", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      using inflater = new HeaderInflater();

      await expect(inflate(inflater, Buffer.from(bytes))).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
    }),
    { numRuns: 100 },
  );
});
