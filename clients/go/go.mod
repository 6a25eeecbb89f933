module weir

go 1.22
