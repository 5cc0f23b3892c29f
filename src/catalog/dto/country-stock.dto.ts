import { ApiProperty } from '@nestjs/swagger';

export class CountryStock {
  @ApiProperty({ type: 'string', title: 'Country', example: 'ru' })
  country!: string;

  @ApiProperty({ type: 'string', title: 'Version', example: '6' })
  version!: string;

  @ApiProperty({ type: 'integer', title: 'Available', description: 'Proxies in stock', example: 971 })
  available!: number;
}
