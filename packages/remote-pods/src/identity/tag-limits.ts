/** Limits of a back end's tags (labels, metadata), as its documentation gives them. */
export interface TagLimits {
  /** Maximum number of characters of a key. */
  readonly maxKeyLength: number;
  /** Maximum number of characters of a value. */
  readonly maxValueLength: number;
  /** Maximum number of tags of an object. */
  readonly maxCount: number;
  /** Character that joins the words of a key: `.` in `vk.node`, `-` in `vk-node`. */
  readonly keySeparator: "." | "-" | "_" | "/";
  /** Whether the back end may return keys in another case than they were written in. Default: `false`. */
  readonly ignoresKeyCase?: boolean | undefined;
  /** Pattern that every value matches as a whole. Default: all values are allowed. */
  readonly valuePattern?: RegExp | undefined;
}

/** Limits that the tags of most clouds are within: Azure's, and those of AWS. */
export const commonTagLimits: TagLimits = { maxKeyLength: 128, maxValueLength: 256, maxCount: 50, keySeparator: "." };
