import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const compress = promisify(deflate);
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** 8 bits of red, green and blue, the usual compression and filters, no interlacing. */
const KIND = [8, 2, 0, 0, 0];
/** Each line is written as what differs from the line above. */
const FROM_ABOVE = 2;

/** A picture as PNG (ISO/IEC 15948); `pixels`: red, green and blue of each pixel, line by line. */
export async function pngOf(width: number, height: number, pixels: Uint8Array): Promise<Buffer> {
  const stride = width * 3;
  const lines = Buffer.alloc((stride + 1) * height);
  for (let y = 0; y < height; y++) {
    const at = y * (stride + 1);
    lines[at] = FROM_ABOVE;
    for (let i = 0; i < stride; i++) {
      const above = y === 0 ? 0 : (pixels[(y - 1) * stride + i] ?? 0);
      lines[at + 1 + i] = (pixels[y * stride + i] ?? 0) - above;
    }
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
