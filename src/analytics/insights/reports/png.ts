import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const compress = promisify(deflate);
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** 8 bits of red, green and blue, the usual compression and filters, no interlacing. */
const KIND = [8, 2, 0, 0, 0];
/** Lines are written as they are: few shapes in few colours repeat themselves. */
const AS_IT_IS = 0;

/** A picture as PNG (ISO/IEC 15948); `pixels`: red, green and blue of each pixel, line by line. */
export async function pngOf(width: number, height: number, pixels: Uint8Array): Promise<Buffer> {
  const stride = width * 3;
  const lines = Buffer.alloc((stride + 1) * height);
  for (let y = 0; y < height; y++) {
    const at = y * (stride + 1);
    lines[at] = AS_IT_IS;
    lines.set(pixels.subarray(y * stride, (y + 1) * stride), at + 1);
  }
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([size, Buffer.from(KIND)])),
    chunk('IDAT', await compress(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
