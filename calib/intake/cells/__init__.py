"""What single cells mean: words of scales, codes for no score, numbers as people write them."""
